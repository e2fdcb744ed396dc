//! `copy(x) = x`, row-major and in memory of its own.

use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`copy`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Copy;

impl Plain for Copy {
    const NAME: &'static str = "copy";

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn law(&self, input: &Meta, _: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        input.layout.is_contiguous().then_some(Law::Input)
    }

    fn linearity(&self) -> Linearity {
        Linearity::Jointly
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Move(Move::Copy)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(ctx.grad(0)?)])
    }
}

/// The same elements in new row-major memory, for any dtype and layout.
#[function]
#[python(hidden)]
#[operator(DTypes::ALL, samples, Copy)]
pub fn copy(input: &Tensor) -> Result<Tensor> {
    dispatch1(&Copy, &[input])
}

impl Tensor {
    /// The same elements in new row-major memory.
    #[track_caller]
    pub fn copy(&self) -> Result<Tensor> {
        copy(self)
    }

    /// As [`Tensor::copy`]: a copy even where the tensor is row-major already.
    #[track_caller]
    pub fn force_contiguous(&self) -> Result<Tensor> {
        copy(self)
    }

    /// The same tensor if it is row-major, otherwise a row-major copy.
    #[track_caller]
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { copy(self) }
    }

    /// Replaces the elements in place with those of `source`, of equal shape and dtype.
    ///
    /// # Errors
    /// When shape or dtype differ, and as [`crate::dispatch::dispatch_into`].
    #[track_caller]
    pub fn copy_from(&self, source: &Tensor) -> Result<()> {
        if source.shares_storage(self) && source.layout() == self.layout() {
            return Ok(());
        }
        dispatch_into(&Copy, &[source], &[self])
    }
}

fn samples() -> Vec<Sample> {
    let shapes: [&[usize]; 3] = [&[], &[5], &[3, 4]];
    shapes.map(|s| Sample::new(Copy, vec![Array::spread(s, -2.0..2.0)], |x| x[0].clone())).into()
}
