//! The family of elementwise functions of one tensor.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use opforge_tile::{BinaryFn, Float, UnaryFn};
use smallvec::smallvec;

use super::{Plain, like_first};
use crate::autograd::{Backward, is_grad_enabled};
use crate::declaration::{Array, DTypes, Sample};
use crate::dispatch::{Out, dispatch_to, dispatch1};
use crate::operator::{
    Attributes, AxisMap, Grads, Law, Linearity, Lowering, Metas, Operator, Place, Reader, Repeats, Saves, Tile,
};
use crate::{DType, Error, Meta, Result, Tensor};

/// A function of one tensor, element by element, that keeps the dtype. Its file gives the tile function ([`UnaryFn`]) and the derivative.
pub trait Unary: UnaryFn + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<UnaryOp<Self>>(), Reader::of::<SlopeOp<Self>>()];
    /// Whether the function is made of steps. Its gradient is 0, without a [`Unary::derivative`].
    const FLAT: bool = false;
    /// Whether the function of a sum is the sum of the functions.
    const LINEAR: bool = false;
    /// What the function is of its own results, bit for bit.
    const REPEATS: Repeats = Repeats::New;
    /// What the derivative reads.
    const SAVES: Saves = if Self::FLAT { Saves::NOTHING } else { Saves::INPUTS };
    /// Whether [`Unary::slope`] or [`Unary::gradient`] is given.
    const FUSED: bool = false;
    /// Whether the function has a gradient.
    const DIFFERENTIABLE: bool = true;
    /// The input's gradient, made of operators; only asked of differentiable functions.
    fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
        if Self::FLAT {
            return ctx.grad(0)?.zeros_like();
        }
        Err(Error::autograd(Self::NAME, "gradient", "requested", "a differentiable function"))
    }
    /// The function of complex numbers, composed of functions of real ones. Without it they are refused.
    fn complex(&self, input: &Tensor) -> Result<Tensor> {
        Err(Error::UnsupportedDTypeForOp(input.dtype(), Self::NAME))
    }
    /// The slope at a point, as a tile function of what is saved: the output where `SAVES` is [`Saves::OUTPUTS`], else the input. Where the
    /// gradient need not be differentiated again, it replaces [`Unary::derivative`]: one pass instead of several.
    #[inline(always)]
    fn slope<V: Float>(self, saved: V) -> V {
        const { assert!(!Self::FUSED, "FUSED demands an implementation of `slope` or `gradient`") };
        saved
    }
    /// The input's gradient, of what is saved and the output's gradient. Functions with flat parts give it themselves: there it is 0, whatever arrives,
    /// where a product with a slope of 0 would make infinity NaN.
    #[inline(always)]
    fn gradient<V: Float>(self, saved: V, grad: V) -> V {
        self.slope(saved) * grad
    }
}

/// Makes an operator of the block that implements [`Unary`]: all that its file has to say.
///
/// The block holds the tile function's items too, those of [`UnaryFn`], and has the documentation of the function that users call. Beside it then
/// stand the struct, which has no fields, with both implementations; `NAME`, which is the struct's in snake case; a function of that name, declared
/// with [`#[function(out)]`](macro@crate::function), whose other attributes follow `#[unary]`; and its `DEFINITION`. The function takes floats, and
/// integers and truth values if `INT` and `BOOL` say that they have it; otherwise they become floats first.
///
/// The attribute says what the operator is tried with: `samples`, a range of numbers, and `reference`, a function of one. The file imports the
/// [`prelude`](crate::ops::prelude).
///
/// ```
/// use opforge::ops::prelude::*;
///
/// /// The third power, element by element.
/// #[unary(samples = -2.0..2.0, reference = |x| x.powi(3))]
/// #[python(torch, method)]
/// impl Unary for Cube {
///     #[inline(always)]
///     fn float<V: Float>(self, x: V) -> V {
///         x * x * x
///     }
///
///     fn derivative(&self, ctx: &Backward<'_>) -> Result<Tensor> {
///         ctx.grad(0)?.mul(&ctx.input(0)?.sqr()?.affine(3.0, 0.0)?)
///     }
/// }
///
/// # fn main() -> Result<()> {
/// assert_eq!(cube(&Tensor::new(&[2f32], &Device::Cpu)?)?.to_vec1::<f32>()?, [8.0]);
/// assert_eq!((DEFINITION.name, DEFINITION.dtypes), ("cube", DTypes::FLOATS));
/// # Ok(())
/// # }
/// ```
pub use opforge_macros::unary;

/// The operator of a [`Unary`] function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct UnaryOp<F>(pub F);

/// Applies a unary function to a tensor.
#[track_caller]
pub fn unary<F: Unary>(f: F, input: &Tensor) -> Result<Tensor> {
    unary_to(f, input, None)
}

/// As [`unary()`], with a destination.
#[track_caller]
pub fn unary_to<F: Unary>(f: F, input: &Tensor, out: Out<'_>) -> Result<Tensor> {
    if input.dtype().is_complex() { f.complex(input) } else { dispatch_to(&UnaryOp(f), &[input], out) }
}

impl<F: Unary> Plain for UnaryOp<F> {
    const NAME: &'static str = F::NAME;
    const SAVES: Saves = F::SAVES;
    const DIFFERENTIABLE: bool = F::DIFFERENTIABLE;
    const OVERWRITES: u32 = u32::MAX;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(like_first(inputs, inputs[0].dtype))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn law(&self, input: &Meta, before: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        let (op, first) = before?;
        match F::REPEATS {
            Repeats::New => None,
            Repeats::Same => op.same(self).then_some(Law::Input),
            Repeats::Undone => (op.same(self) && first.dtype == input.dtype).then_some(Law::InputBefore),
        }
    }

    fn linearity(&self) -> Linearity {
        if F::LINEAR { Linearity::Jointly } else { Linearity::None }
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::unary(self.0))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        if !F::FUSED || is_grad_enabled() {
            return Ok(smallvec![ctx.when(0, || self.0.derivative(ctx))?]);
        }
        let saved = if F::SAVES == Saves::OUTPUTS { ctx.output(0)? } else { ctx.input(0)? };
        Ok(smallvec![Some(dispatch1(&SlopeOp(self.0), &[&saved, &ctx.grad(0)?])?)])
    }
}

/// [`Unary::gradient`], in one pass. Only called where nothing is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
struct SlopeOp<F>(F);

/// The tile function of [`SlopeOp`].
#[derive(Clone, Copy)]
struct Slope<F>(F);

impl<F: Unary> BinaryFn for Slope<F> {
    const PICOSECONDS: usize = F::PICOSECONDS;

    #[inline(always)]
    fn float<V: Float>(self, saved: V, grad: V) -> V {
        self.0.gradient(saved, grad)
    }
}

impl<F: Unary> Plain for SlopeOp<F> {
    const NAME: &'static str = F::NAME;
    const INPUTS: usize = 2;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(like_first(inputs, inputs[0].dtype))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::binary(Slope(self.0)))
    }
}

/// The dtypes of a unary function: floats, and integers and truth values if they have it.
pub const fn unary_dtypes<F: UnaryFn>() -> DTypes {
    let numbers = if F::INT { DTypes::NUMERIC } else { DTypes::FLOATS };
    if F::BOOL { numbers.and(DTypes::of(&[DType::Bool])) } else { numbers }
}

/// Samples of a unary function over a range of inputs, in several shapes.
pub fn unary_samples<F: Unary>(f: F, range: Range<f64>, reference: fn(f64) -> f64) -> Vec<Sample> {
    unary_samples_with(f, range, reference)
}

/// As [`unary_samples`], for a reference that captures the function's attributes.
pub fn unary_samples_with<F: Unary>(
    f: F,
    range: Range<f64>,
    reference: impl Fn(f64) -> f64 + Clone + Send + Sync + 'static,
) -> Vec<Sample> {
    let shapes: [&[usize]; 4] = [&[], &[7], &[3, 5], &[2, 3, 4]];
    let sample = |shape: &&[usize]| {
        let reference = reference.clone();
        let sample = Sample::new(UnaryOp(f), vec![Array::spread(shape, range.clone())], move |x| x[0].map(&reference));
        if F::DIFFERENTIABLE { sample } else { sample.rough() }
    };
    shapes.iter().map(sample).collect()
}
