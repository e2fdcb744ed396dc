//! `solve_triangular(A, B) = X` with `A X = B` for a triangular `A`.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use crate::family::matrix::{identity, over_batch, right_hand_side, solve_axes, square};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`solve_triangular`]: `A` is `[.., n, n]`, `B` `[.., n, k]`, with equal leading dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct SolveTriangular {
    /// Whether `A` is upper triangular.
    pub upper: bool,
    /// Whether its diagonal counts as ones.
    pub unit: bool,
}

/// `A^-1 B`, of a triangle.
#[track_caller]
pub(crate) fn triangular(a: &Tensor, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
    dispatch1(&SolveTriangular { upper, unit }, &[a, b])
}

impl Plain for SolveTriangular {
    const NAME: &'static str = "solve_triangular";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves { inputs: 1, outputs: u32::MAX };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        right_hand_side(Self::NAME, inputs[0], inputs[1])?;
        Ok(smallvec![Meta::contiguous(inputs[1].dtype, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        solve_axes(inputs)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::Triangular { upper: self.upper, unit: self.unit })
    }

    /// As of `solve`; of `A` the triangle that is read.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let of_b = triangular(&f::adjoint(&ctx.input(0)?)?, &ctx.grad(0)?, !self.upper, self.unit)?;
        let of_a = ctx.when(0, || {
            let whole = of_b.matmul(&f::adjoint(&ctx.output(0)?)?)?.neg()?;
            let inside = i64::from(self.unit);
            if self.upper { f::triu(&whole, inside) } else { f::tril(&whole, -inside) }
        })?;
        Ok(smallvec![of_a, Some(of_b)])
    }
}

/// The `X` with `A X = B`, or `X A = B` if not `left`, for each triangular matrix `A` of a batch; leading dimensions are broadcast. Only the
/// triangle that `upper` names is read, and with `unitriangular` its diagonal counts as ones. A zero on the diagonal gives infinities and
/// NaN.
///
/// # Errors
/// For matrices that are not square, shapes that do not go together, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[2f32, 1.0], [0.0, 4.0]], &Device::Cpu)?;
/// let b = Tensor::new(&[[4f32], [8.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::solve_triangular(&a, &b, true, true, false)?.to_vec2::<f32>()?, [[1.0], [2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, upper, left = true, unitriangular = false)]
#[python(linalg)]
#[operator(DTypes::FACTORED, samples, SolveTriangular)]
pub fn solve_triangular(A: &Tensor, B: &Tensor, upper: bool, left: bool, unitriangular: bool) -> Result<Tensor> {
    square(OP, A.meta())?;
    ensure(B.rank() >= 2, || wrong_shape(OP, "B", B.shape(), "matrices: at least two dimensions"))?;
    if !left {
        let (a, b) = (f::transpose(A, -2, -1)?, f::transpose(B, -2, -1)?);
        return f::transpose(&solve_triangular(&a, &b, !upper, true, unitriangular)?, -2, -1);
    }
    let (a, b) = over_batch(OP, A, B)?;
    triangular(&a, &b, upper, unitriangular)
}

/// Limited by tanh, since infinities take other ways there.
fn samples() -> Vec<Sample> {
    let sample = |upper: bool, unit: bool| {
        let call = move |x: &[&Tensor]| {
            let a = x[0].tanh()?.broadcast_add(&identity(x[0], 2)?.affine(3.0, 0.0)?)?;
            triangular(&a, &x[1].tanh()?, upper, unit)
        };
        let reference = move |x: &[Array]| {
            let (first, last) = if upper { (1, 0) } else { (0, 1) };
            Array::from_fn(&[2, 2, 3], |i| {
                let diagonal = |r: usize| if unit { 1.0 } else { x[0].at(&[i[0], r, r]).tanh() + 3.0 };
                let b = |r: usize| x[1].at(&[i[0], r, i[2]]).tanh();
                let known = b(first) / diagonal(first);
                if i[1] == first {
                    known
                } else {
                    (b(last) - x[0].at(&[i[0], last, first]).tanh() * known) / diagonal(last)
                }
            })
        };
        let inputs = vec![Array::spread(&[2, 2, 2], -2.0..2.0), Array::spread(&[2, 2, 3], -2.0..2.0)];
        Sample::composed("solve_triangular", call, inputs, reference)
    };
    vec![sample(false, false), sample(true, false), sample(false, true), sample(true, true)]
}
