//! An operand of arithmetic: a tensor or a number.

use opforge_core::{Scalar, WithDType};

use crate::Tensor;

/// A tensor or a number, as most binary functions take on either side.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number; it adapts to the other operand's dtype.
    Scalar(Scalar),
}

/// Types that stand for an [`Operand`]: `&Tensor` and numbers.
pub trait TensorOrScalar {
    /// The operand.
    fn operand(&self) -> Operand<'_>;
}

impl TensorOrScalar for &Tensor {
    fn operand(&self) -> Operand<'_> {
        Operand::Tensor(self)
    }
}

impl<T: WithDType> TensorOrScalar for T {
    fn operand(&self) -> Operand<'_> {
        Operand::Scalar(self.to_scalar())
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(t: &'a Tensor) -> Self {
        Operand::Tensor(t)
    }
}

impl From<f64> for Operand<'_> {
    fn from(v: f64) -> Self {
        Operand::Scalar(v.into())
    }
}

impl From<i64> for Operand<'_> {
    fn from(v: i64) -> Self {
        Operand::Scalar(v.into())
    }
}

impl From<Scalar> for Operand<'_> {
    fn from(v: Scalar) -> Self {
        Operand::Scalar(v)
    }
}
