//! What arguments may be: sizes, dimensions and places as Python counts them, operands, and defaults of the process.

mod default_device;
mod default_dtype;
mod dims;
mod operand;
mod rules;

pub(crate) use default_device::device_or_default;
pub use default_device::{DefaultDevice, set_default_device};
pub use default_dtype::{default_dtype, set_default_dtype};
pub use dims::size_to_shape;
pub(crate) use dims::{accumulation_dtype, apart, existing_dim, leaf, limits, no_dims, position, with_dimension};
pub use operand::{Operand, TensorOrScalar, TensorScalar};
pub use rules::Rules;
