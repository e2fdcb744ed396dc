//! An operand of arithmetic: a tensor or a number.

use opforge_core::{Scalar, WithDType};

use crate::{Device, Result, Tensor};

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

    /// The operand as tensors alone.
    ///
    /// # Errors
    /// When there is no memory for the number's tensor.
    fn to_tensor_scalar(self) -> Result<TensorScalar>
    where
        Self: Sized;
}

/// An operand as a tensor, which may be that of a number.
#[derive(Debug, Clone)]
pub enum TensorScalar {
    /// A tensor.
    Tensor(Tensor),
    /// A number, as a tensor without dimensions on the CPU.
    Scalar(Tensor),
}

impl TensorOrScalar for &Tensor {
    fn operand(&self) -> Operand<'_> {
        Operand::Tensor(self)
    }
    fn to_tensor_scalar(self) -> Result<TensorScalar> {
        Ok(TensorScalar::Tensor(self.clone()))
    }
}

impl<T: WithDType> TensorOrScalar for T {
    fn operand(&self) -> Operand<'_> {
        Operand::Scalar(self.to_scalar())
    }
    fn to_tensor_scalar(self) -> Result<TensorScalar> {
        Ok(TensorScalar::Scalar(Tensor::full(self, (), &Device::Cpu)?))
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
