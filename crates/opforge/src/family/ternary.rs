//! The family of elementwise functions of three tensors of floats.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use opforge_tile::TernaryFn;
use smallvec::smallvec;

use super::{check_dtypes, result_layout};
use crate::autograd::{Backward, sum_to};
use crate::declaration::{Array, Sample};
use crate::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Operator, Reader, Saves, Tile, arity};
use crate::{Meta, Result, Tensor};

/// A function of three tensors of one floating-point dtype, element by element with broadcasting.
pub(crate) trait Ternary: TernaryFn + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<TernaryOp<Self>>()];
    /// What the gradient of each operand reads.
    const READS: [Saves; 3];
    /// The gradient of operand `i`, in the broadcast shape.
    fn derivative(&self, ctx: &Backward<'_>, i: usize) -> Result<Tensor>;
}

/// The operator of a [`Ternary`] function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub(crate) struct TernaryOp<F>(pub F);

impl<F: Ternary> Operator for TernaryOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(F::NAME, inputs, 3)?;
        let [a, b, c] = [inputs[0], inputs[1], inputs[2]];
        check_dtypes(F::NAME, a, b)?;
        check_dtypes(F::NAME, a, c)?;
        let shape = a.shape().broadcast(b.shape(), F::NAME)?.broadcast(c.shape(), F::NAME)?;
        Ok(smallvec![Meta { dtype: a.dtype, layout: result_layout(inputs, &shape) }])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs.iter().map(|m| m.rank()).max().unwrap_or(0))
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::ternary(self.0)))
    }

    fn overwrites(&self, _: usize) -> bool {
        true
    }

    fn saves(&self) -> Saves {
        F::READS[0] | F::READS[1] | F::READS[2]
    }

    fn saves_for(&self, i: usize) -> Saves {
        F::READS[i]
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = |i: usize| ctx.when(i, || sum_to(&self.0.derivative(ctx, i)?, ctx.input_meta(i).shape()));
        Ok(smallvec![grad(0)?, grad(1)?, grad(2)?])
    }
}

/// Whether a function of these tensors is one pass: for floats of one dtype.
pub(crate) fn is_fused(tensors: [&Tensor; 3]) -> bool {
    let dtype = tensors[0].dtype();
    dtype.is_float() && tensors.iter().all(|t| t.dtype() == dtype)
}

/// Samples of a function over a range of inputs, in equal and in broadcast shapes.
pub(crate) fn ternary_samples<F: Ternary>(f: F, range: Range<f64>, reference: fn(f64, f64, f64) -> f64) -> Vec<Sample> {
    let shapes: [[&[usize]; 3]; 4] =
        [[&[], &[], &[]], [&[3, 5], &[3, 5], &[3, 5]], [&[2, 3, 4], &[3, 1], &[4]], [&[1, 4], &[3, 1], &[2, 1, 1]]];
    let sample = |shapes: &[&[usize]; 3]| {
        // Ranges that differ a little, so that no operand equals another.
        let array = |k: usize| Array::spread(shapes[k], range.start..range.end + 0.1 * k as f64);
        Sample::new(TernaryOp(f), (0..3).map(array).collect(), move |x| {
            let shape = broadcast_shape(&[&x[0].shape, &x[1].shape, &x[2].shape]);
            Array::from_fn(&shape, |i| reference(x[0].at_broadcast(i), x[1].at_broadcast(i), x[2].at_broadcast(i)))
        })
    };
    shapes.iter().map(sample).collect()
}

/// The shape that all of these are broadcast to.
fn broadcast_shape(shapes: &[&[usize]]) -> Vec<usize> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let length = |d: usize| shapes.iter().filter_map(|s| Some(s[(d + s.len()).checked_sub(rank)?])).max().unwrap_or(1);
    (0..rank).map(length).collect()
}
