//! `eigvals(A)`: eigenvalues of square matrices.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::eig::{complex, eig, power_sums};
use crate::family::matrix::{batch_axes, square};
use crate::ops::prelude::*;

/// The operator of [`eigvals`]: `[.., n, n]` to `[.., n]`, complex.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct EigVals;

impl Plain for EigVals {
    const NAME: &'static str = "eigvals";
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let a = inputs[0];
        square(Self::NAME, a)?;
        Ok(smallvec![Meta::contiguous(complex(Self::NAME, a)?, &a.dims()[..a.rank() - 1])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, &[1])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Eigenvalues)
    }
}

/// The eigenvalues of each square matrix, complex and in no order, but conjugates side by side. There is a gradient where they differ.
///
/// # Errors
/// For matrices that are not square, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let a = Tensor::new(&[[2f64, 1.0], [0.0, 3.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::eigvals(&a)?.to_vec1::<Complex<f64>>()?, [2.0, 3.0].map(Complex::from));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, EigVals)]
pub fn eigvals(A: &Tensor) -> Result<Tensor> {
    // The gradient needs the vectors too.
    if A.requires_grad() && is_grad_enabled() { Ok(eig(A)?.0) } else { dispatch1(&EigVals, &[A]) }
}

/// Values come in no order: what does not depend on it is compared. Single numbers are their own values.
fn samples() -> Vec<Sample> {
    let reference = |x: &[Array]| Array::new(&x[0].shape[..2], x[0].data.clone());
    let numbers = Sample::new(EigVals, vec![Array::spread(&[3, 1, 1], -2.0..2.0)], reference).finite().rough();
    vec![numbers, power_sums("eigvals", eigvals)]
}
