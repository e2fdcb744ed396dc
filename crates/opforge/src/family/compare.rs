//! Operators that answer a question of each element: comparisons of two and tests of one.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_core::Scalar;
use opforge_tile::{CompareFn, TestFn};

use super::binary::{broadcast, pair_samples};
use super::{Plain, Side, like_first};
use crate::declaration::{Array, Sample};
use crate::operator::{Attributes, AxisMap, Lowering, Metas, Operator, Place, Reader, Tile, arity};
use crate::{DType, Error, Meta, Result, Tensor};

/// A predicate of two tensors of one dtype, element by element with broadcasting.
pub trait Comparison: CompareFn + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<CompareOp<Self>>(), Reader::of::<CompareWithScalar<Self>>()];
    /// Whether dtypes that are only stored have the predicate, which is then that of their elements in f32.
    const OF_STORED: bool = false;
    /// The predicate of two tensors of one complex dtype. Without it complex numbers, which have no order, are refused.
    fn complex(&self, a: &Tensor, _b: &Tensor) -> Result<Tensor> {
        Err(Error::UnsupportedDTypeForOp(a.dtype(), Self::NAME))
    }
}

/// The operator of a [`Comparison`] of two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct CompareOp<F> {
    /// The predicate.
    pub f: F,
    /// The result's dtype: bool or u8.
    pub truth: DType,
}

impl<F: Comparison> Plain for CompareOp<F> {
    const NAME: &'static str = F::NAME;
    const INPUTS: usize = 2;
    const DIFFERENTIABLE: bool = false;
    const OVERWRITES: u32 = u32::MAX;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        broadcast(F::NAME, inputs, self.truth)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank().max(inputs[1].rank()))
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::compare(self.f))
    }
}

/// A predicate of one tensor's elements.
pub trait Test: TestFn + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the predicate's operator from text.
    const READERS: &'static [Reader] = &[Reader::of::<TestOp<Self>>()];
}

/// The operator of a [`Test`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct TestOp<F> {
    /// The predicate.
    pub f: F,
    /// The result's dtype: bool or u8.
    pub truth: DType,
}

impl<F: Test> Operator for TestOp<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(F::NAME, inputs, 1)?;
        Ok(like_first(inputs, self.truth))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::test(self.f)))
    }

    fn overwrites(&self, _: usize) -> bool {
        true
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The operator of a [`Comparison`] of a tensor and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct CompareWithScalar<F> {
    /// The predicate.
    pub f: F,
    /// The number, which the tensor's dtype can hold.
    pub scalar: Scalar,
    /// Which operand the number is.
    pub side: Side,
    /// The result's dtype: bool or u8.
    pub truth: DType,
}

impl<F: Comparison> Plain for CompareWithScalar<F> {
    const NAME: &'static str = F::NAME;
    const DIFFERENTIABLE: bool = false;
    const OVERWRITES: u32 = u32::MAX;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(like_first(inputs, self.truth))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::compare(self.f).with_number(self.scalar, self.side as usize))
    }
}

/// Samples of a predicate of one tensor's elements.
pub fn test_samples<F: Test>(op: TestOp<F>, holds: fn(f64) -> bool) -> Vec<Sample> {
    let reference = move |x: &[Array]| x[0].map(|x| f64::from(holds(x)));
    vec![Sample::new(op, vec![Array::spread(&[3, 4], -2.0..2.0)], reference).rough()]
}

/// Samples of a comparison: equal and broadcast shapes of few distinct values, so that ties occur, and a number on either side.
pub fn compare_samples<F: Comparison>(f: F, reference: fn(f64, f64) -> bool) -> Vec<Sample> {
    let truth = DType::Bool;
    let number = move |a: f64, b: f64| f64::from(reference(a, b));
    let mut samples = pair_samples(CompareOp { f, truth }, &(0.0..4.0), &(0.0..4.0), number);
    for side in [Side::Left, Side::Right] {
        let op = CompareWithScalar { f, scalar: Scalar::Float(1.0), side, truth };
        samples.push(Sample::new(op, vec![Array::spread(&[3, 4], 0.0..4.0)], move |x| {
            x[0].map(|x| if side == Side::Left { number(1.0, x) } else { number(x, 1.0) })
        }));
    }
    samples.into_iter().map(|sample| sample.on(f64::floor).rough()).collect()
}
