//! `eig(A)`: eigenvalues and eigenvectors of square matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_cpu::dense::{Dense, dense};

use crate::operator::matrix::{batch_axes, square};
use crate::operator::prelude::*;

/// The operator of [`eig`]: `[.., n, n]` to values, `[.., n]`, and vectors in columns, `[.., n, n]`, both complex.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Eig;

/// The complex dtype of a matrix's eigenvalues.
pub(super) fn complex(op: &'static str, a: &Meta) -> Result<DType> {
    match a.dtype {
        DType::F32 => Ok(DType::C64),
        DType::F64 => Ok(DType::C128),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

impl Operator for Eig {
    fn name(&self) -> &'static str {
        "eig"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("eig", inputs, 1)?;
        let a = inputs[0];
        square("eig", a)?;
        let dtype = complex("eig", a)?;
        Ok(smallvec![Meta::contiguous(dtype, &a.dims()[..a.rank() - 1]), Meta::contiguous(dtype, a.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1, 2])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        dense("eig", Dense::Eig, inputs, outputs)
    }

    fn differentiable(&self) -> bool {
        false
    }
}

function! {
    /// The eigenvalues of each square matrix and eigenvectors of length 1 in columns, both complex. The values come in no order, but conjugates
    /// side by side; the vectors are unique up to factors of magnitude 1 if the values differ.
    ///
    /// There is no gradient; [`eigh`](fn@crate::functional::eigh) has one, of symmetric matrices.
    ///
    /// # Errors
    /// For matrices that are not square, NaN and infinities, and dtypes other than f32 and f64.
    ///
    /// ```
    /// # use opforge::{Complex, Device, Tensor};
    /// let a = Tensor::new(&[[2f64, 1.0], [0.0, 3.0]], &Device::Cpu)?;
    /// let (values, vectors) = opforge::functional::eig(&a)?;
    /// assert_eq!(values.to_vec1::<Complex<f64>>()?, [2.0, 3.0].map(Complex::from));
    /// assert_eq!(vectors.to_vec2::<Complex<f64>>()?[1][0], Complex::from(0.0));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(linalg, results(eigenvalues, eigenvectors))]
    pub fn eig(A: &Tensor) -> Result<(Tensor, Tensor)> {
        let mut outputs = dispatch(&Eig, &[A])?;
        let (vectors, values) = (outputs.remove(1), outputs.remove(0));
        Ok((values, vectors))
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: "eig", function: &FUNCTION, dtypes: DTypes::of(&[DType::F32, DType::F64]), samples };

/// Of single numbers, which are their own eigenvalues.
fn samples() -> Vec<Sample> {
    let reference = |x: &[Array]| vec![Array::new(&x[0].shape[..2], x[0].data.clone()), x[0].map(|_| 1.0)];
    vec![Sample::many(Eig, vec![Array::spread(&[3, 1, 1], -2.0..2.0)], reference).finite().rough()]
}
