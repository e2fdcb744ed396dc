//! `tril(x, diagonal)`: the lower triangles of matrices.

use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`tril`] and of [`triu`](fn@crate::functional::triu).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Triangle {
    /// Whether what is on and below the diagonal stays; otherwise what is on and above it.
    pub lower: bool,
    /// How far above (or, negative, below) the main diagonal the diagonal is.
    pub diagonal: i64,
}

impl Operator for Triangle {
    fn name(&self) -> &'static str {
        if self.lower { "tril" } else { "triu" }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        ensure(inputs[0].rank() >= 2, || wrong_shape(self.name(), "input", inputs[0].shape(), "rank at least 2"))?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let rank = inputs[0].rank();
        same_axes(inputs[0], &[rank - 2, rank - 1])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Move(Move::Triangle { lower: self.lower, diagonal: self.diagonal }))
    }

    fn overwrites(&self, _: usize) -> bool {
        true
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(dispatch1(self, &[&ctx.grad(0)?])?)])
    }
}

/// The matrices, the last two dimensions, with zeros above the diagonal that is `diagonal` above the main one.
///
/// # Errors
/// For fewer than two dimensions.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::tril(&x, 0)?.to_vec2::<f32>()?, [[1.0, 0.0], [3.0, 4.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(diagonal = 0, out)]
#[python(torch, method, in_place)]
#[operator(DTypes::ALL, samples, Triangle)]
pub fn tril(input: &Tensor, diagonal: i64) -> Result<Tensor> {
    triangle(Triangle { lower: true, diagonal }, input, out)
}

#[track_caller]
pub(super) fn triangle(op: Triangle, input: &Tensor, out: Out<'_>) -> Result<Tensor> {
    if out.is_some() { dispatch_to(&op, &[input], out) } else { dispatch1(&op, &[&in_rows(input)?]) }
}

fn samples() -> Vec<Sample> {
    triangle_samples(true)
}

/// Samples above, on and below the main diagonal.
pub(super) fn triangle_samples(lower: bool) -> Vec<Sample> {
    let sample = |shape: &[usize], diagonal: i64| {
        let inputs = vec![Array::spread(shape, 0.5..2.0)];
        Sample::new(Triangle { lower, diagonal }, inputs, move |x| {
            Array::from_fn(&x[0].shape, |i| {
                let above = i[i.len() - 1] as i64 - i[i.len() - 2] as i64 - diagonal;
                let kept = if lower { above <= 0 } else { above >= 0 };
                if kept { x[0].at(i) } else { 0.0 }
            })
        })
    };
    vec![sample(&[3, 4], 0), sample(&[4, 3], 1), sample(&[2, 3, 3], -1), sample(&[2, 2], 7), sample(&[2, 2], -7)]
}
