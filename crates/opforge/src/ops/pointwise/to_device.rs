//! `to_device(x, device) = x`, in that device's memory.

use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`to_device`]. From one device to another its input is contiguous; to the same one it is a copy where the input is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ToDevice {
    /// Where the input is.
    pub from: Device,
    /// Where the output is.
    pub to: Device,
}

impl Operator for ToDevice {
    fn name(&self) -> &'static str {
        "to_device"
    }

    fn device(&self) -> Option<Device> {
        (self.from != self.to).then_some(self.to)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("to_device", inputs, 1)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(if self.from == self.to { Lowering::Move(Move::Copy) } else { Lowering::Transfer })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        Ok(smallvec![Some(if self.from == self.to { grad } else { to_device(&grad, self.from)? })])
    }
}

/// The tensor on a device: itself if it is there already. On [`Device::Meta`] it keeps shape and dtype alone, and no gradient.
///
/// # Errors
/// [`Error::Device`] for a tensor without data that is to get some.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::to_device(&x, Device::Cpu)?.to_vec1::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::ALL, samples, ToDevice)]
pub fn to_device(input: &Tensor, device: Device) -> Result<Tensor> {
    match (*input.device(), device) {
        (from, to) if from == to => Ok(input.clone()),
        (_, Device::Meta) => Tensor::zeros(input.shape(), input.dtype(), &device),
        (Device::Meta, _) => Err(Error::devices(OP, Device::Meta, device)),
        (from, to) => dispatch1(&ToDevice { from, to }, &[&input.contiguous()?]),
    }
}

impl Tensor {
    /// The tensor on a device: see [`to_device`](fn@to_device).
    ///
    /// # Errors
    /// For a tensor without data that is to get some.
    #[track_caller]
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        to_device(self, *device)
    }
}

fn samples() -> Vec<Sample> {
    let op = ToDevice { from: Device::Cpu, to: Device::Cpu };
    let shapes: [&[usize]; 3] = [&[], &[5], &[3, 4]];
    shapes.map(|s| Sample::new(op.clone(), vec![Array::spread(s, -2.0..2.0)], |x| x[0].clone())).into()
}
