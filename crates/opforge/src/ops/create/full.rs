//! `full(shape, value)`: one number everywhere.

use crate::arguments::{default_dtype, device_or_default, leaf, size_to_shape};
use crate::ops::prelude::*;

/// The operator of [`full`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Full {
    /// The number, which the dtype can hold.
    pub value: Scalar,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
    /// The result's device.
    pub device: Device,
}

impl Operator for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn device(&self) -> Option<Device> {
        Some(self.device)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("full", inputs, 0)?;
        self.shape.check("full", self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, &self.shape)])
    }

    fn axes(&self, _: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(&[], self.shape.rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Fill(self.value))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// A tensor of one number. Without `dtype` the number decides: bool, i64 or the default floating-point dtype.
///
/// ```
/// let x = opforge::functional::full(&[2], 7i64.into(), None, None, false)?;
/// assert_eq!(x.to_vec1::<i64>()?, [7, 7]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[operator(DTypes::ALL, samples, Full, gradient = false)]
pub fn full(
    size: &[i64],
    fill_value: Scalar,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let default = opforge_core::scalar_type(fill_value.kind(), default_dtype());
    let shape = size_to_shape(OP, size)?;
    leaf(
        Tensor::full_scalar(fill_value, shape, dtype.unwrap_or(default), &device_or_default(OP, device)?)?,
        requires_grad,
    )
}

fn samples() -> Vec<Sample> {
    let sample = |shape: &[usize], value: f64| {
        let op = Full { value: Scalar::Float(value), shape: shape.into(), dtype: DType::F32, device: Device::Cpu };
        let shape = shape.to_vec();
        Sample::new(op, vec![], move |_| Array::from_fn(&shape, |_| value))
    };
    vec![sample(&[2, 3], 1.5), sample(&[], -2.0), sample(&[0, 4], 7.0)]
}
