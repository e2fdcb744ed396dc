//! The family of elementwise functions of two tensors, or of a tensor and a number.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use opforge_core::Scalar;
use opforge_tile::BinaryFn;
use smallvec::smallvec;

use super::{check_dtypes, like_first, result_layout};
use crate::autograd::{Backward, sum_to};
use crate::declaration::{Array, Sample};
use crate::operator::{Attributes, AxisMap, Grads, Linearity, Lowering, Metas, Operator, Reader, Saves, Tile, arity};
use crate::{DType, Error, Meta, Result, Tensor};

/// A function of two tensors of one dtype, element by element with broadcasting, that keeps the dtype.
pub trait Binary: BinaryFn + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<BinaryOp<Self>>(), Reader::of::<WithScalar<Self>>()];
    /// Whether PyTorch's function takes two numbers, as tensors of no dimensions.
    const OF_NUMBERS: bool = false;
    /// Whether the function is made of steps. Its gradients are 0, without a [`Binary::derivative`].
    const FLAT: bool = false;
    /// Of which operands the function is linear.
    const LINEAR: Linearity = Linearity::None;
    /// What the derivatives read.
    const SAVES: Saves = if Self::FLAT { Saves::NOTHING } else { Saves::INPUTS };
    /// What the derivative of the left and that of the right operand read.
    const READS: [Saves; 2] = [Self::SAVES; 2];
    /// The gradient of the left (`Side::Left`) or right operand, in the broadcast shape.
    fn derivative(&self, pair: &Pair<'_, '_>, _side: Side) -> Result<Tensor> {
        const { assert!(Self::FLAT, "a function that is not flat demands an implementation of `derivative`") };
        pair.grad()?.zeros_like()
    }
    /// The function of two tensors of one complex dtype, composed of functions of real numbers, where no kernel has it (`BinaryFn::COMPLEX`, on the CPU).
    /// Without it complex numbers are refused.
    fn by_parts(&self, a: &Tensor, _b: &Tensor) -> Result<Tensor> {
        Err(Error::UnsupportedDTypeForOp(a.dtype(), Self::NAME))
    }
}

/// One of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
#[allow(missing_docs)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// What a binary derivative sees: the operands, either of which may be a number, the output and its gradient.
pub struct Pair<'a, 'b> {
    ctx: &'a Backward<'b>,
    scalar: Option<(Scalar, Side)>,
}

impl Pair<'_, '_> {
    fn operand(&self, side: Side) -> Result<Tensor> {
        match self.scalar {
            Some((scalar, at)) if at == side => {
                let dtype = self.ctx.input_meta(0).dtype;
                Tensor::full_scalar(scalar, (), dtype, self.ctx.device())
            }
            Some(_) => self.ctx.input(0),
            None => self.ctx.input(side as usize),
        }
    }
    /// The operand as it was given, if it is a real number.
    pub fn number(&self, side: Side) -> Option<Scalar> {
        self.scalar.filter(|(scalar, at)| *at == side && scalar.as_real().is_some()).map(|(scalar, _)| scalar)
    }
    /// The left operand.
    pub fn lhs(&self) -> Result<Tensor> {
        self.operand(Side::Left)
    }
    /// The right operand.
    pub fn rhs(&self) -> Result<Tensor> {
        self.operand(Side::Right)
    }
    /// The output.
    pub fn output(&self) -> Result<Tensor> {
        self.ctx.output(0)
    }
    /// The output's gradient.
    pub fn grad(&self) -> Result<Tensor> {
        self.ctx.grad(0)
    }
}

/// The operator of a [`Binary`] function of two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct BinaryOp<F>(pub F);

pub(super) fn broadcast(op: &'static str, inputs: &[&Meta], dtype: DType) -> Result<Metas> {
    arity(op, inputs, 2)?;
    let (a, b) = (inputs[0], inputs[1]);
    check_dtypes(op, a, b)?;
    let layout = if a.shape() == b.shape() {
        result_layout(inputs, a.shape())
    } else {
        result_layout(inputs, &a.shape().broadcast(b.shape(), op)?)
    };
    Ok(smallvec![Meta { dtype, layout }])
}

impl<F: Binary> Operator for BinaryOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let dtype = inputs.first().map_or(DType::F32, |m| m.dtype);
        broadcast(F::NAME, inputs, dtype)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank().max(inputs[1].rank()))
    }

    fn linearity(&self) -> Linearity {
        F::LINEAR
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::binary(self.0)))
    }

    fn overwrites(&self, _: usize) -> bool {
        true
    }

    fn refuses_elements(&self, inputs: &[&Tensor]) -> bool {
        F::INT_FAILURE.is_some() && inputs[0].dtype().is_int()
    }

    fn saves(&self) -> Saves {
        F::SAVES
    }

    fn saves_for(&self, i: usize) -> Saves {
        F::READS[i]
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let pair = Pair { ctx, scalar: None };
        let grad = |side: Side| {
            let i = side as usize;
            ctx.when(i, || sum_to(&self.0.derivative(&pair, side)?, ctx.input_meta(i).shape()))
        };
        Ok(smallvec![grad(Side::Left)?, grad(Side::Right)?])
    }
}

/// The operator of a [`Binary`] function of a tensor and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct WithScalar<F> {
    /// The binary function.
    pub f: F,
    /// The number, which the tensor's dtype can hold.
    pub scalar: Scalar,
    /// Which operand the number is.
    pub side: Side,
}

impl<F: Binary> Operator for WithScalar<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(F::NAME, inputs, 1)?;
        Ok(like_first(inputs, inputs[0].dtype))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn linearity(&self) -> Linearity {
        match (F::LINEAR, self.side) {
            (Linearity::InEach, _) | (Linearity::InFirst, Side::Right) => Linearity::Jointly,
            _ => Linearity::None,
        }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::binary(self.f).with_number(self.scalar, self.side as usize)))
    }

    fn overwrites(&self, _: usize) -> bool {
        true
    }

    fn refuses_elements(&self, inputs: &[&Tensor]) -> bool {
        F::INT_FAILURE.is_some() && inputs[0].dtype().is_int()
    }

    fn saves(&self) -> Saves {
        let own = self.side.other() as usize;
        let reads = F::READS[own];
        Saves { inputs: reads.inputs >> own & 1, outputs: reads.outputs }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let own = self.side.other();
        let pair = Pair { ctx, scalar: Some((self.scalar, self.side)) };
        Ok(smallvec![ctx.when(0, || self.f.derivative(&pair, own))?])
    }
}

/// Samples of a binary function over ranges of its operands: equal shapes, broadcast ones, and a number on either side. A function that takes no
/// floats is tried on whole numbers.
pub fn binary_samples<F: Binary>(f: F, a: Range<f64>, b: Range<f64>, reference: fn(f64, f64) -> f64) -> Vec<Sample> {
    let mut samples = pair_samples(BinaryOp(f), &a, &b, reference);
    for side in [Side::Left, Side::Right] {
        let (range, other) = if side == Side::Left { (&b, &a) } else { (&a, &b) };
        // Whole, so that integer dtypes hold it too.
        let number = other.end.floor();
        let op = WithScalar { f, scalar: Scalar::Float(number), side };
        samples.push(Sample::new(op, vec![Array::spread(&[2, 3], range.clone())], move |x| {
            x[0].map(|x| if side == Side::Left { reference(number, x) } else { reference(x, number) })
        }));
    }
    let suited = |sample: Sample| match (F::FLOAT, F::FLAT) {
        (true, false) => sample,
        (true, true) => sample.rough(),
        (false, _) => sample.on(f64::floor).rough(),
    };
    samples.into_iter().map(suited).map(|sample| if F::COMPLEX { sample.of_reals() } else { sample }).collect()
}

/// Samples of an operator of two operands in equal and in broadcast shapes.
pub(crate) fn pair_samples(
    op: impl Operator + Clone,
    a: &Range<f64>,
    b: &Range<f64>,
    reference: impl Fn(f64, f64) -> f64 + Copy + Send + Sync + 'static,
) -> Vec<Sample> {
    let shapes: [[&[usize]; 3]; 5] = [
        [&[], &[], &[]],
        [&[7], &[7], &[7]],
        [&[3, 5], &[3, 5], &[3, 5]],
        [&[2, 3, 4], &[3, 1], &[2, 3, 4]],
        [&[4, 1], &[3], &[4, 3]],
    ];
    let sample = |[sa, sb, out]: &[&'static [usize]; 3]| {
        let inputs = vec![Array::spread(sa, a.clone()), Array::spread(sb, b.clone())];
        let out = out.to_vec();
        Sample::new(op.clone(), inputs, move |x| {
            Array::from_fn(&out, |i| reference(x[0].at_broadcast(i), x[1].at_broadcast(i)))
        })
    };
    shapes.iter().map(sample).collect()
}
