//! What arguments may be, and how they are brought together before operators see them.

mod constant_in;
mod default_device;
mod default_dtype;
mod dims;
mod operand;
mod pairs;
mod rules;

pub(crate) use constant_in::constant_in;
pub(crate) use default_device::device_or_default;
pub use default_device::{DefaultDevice, set_default_device};
pub use default_dtype::{default_dtype, set_default_dtype};
pub(crate) use dims::{
    accumulation_dtype, apart, existing_dim, leaf, limits, no_dims, position, reduce_dims, with_dimension,
};
pub use dims::{size_to_shape, sum_to};
pub use operand::{Operand, TensorOrScalar};
pub use pairs::{binary, binary_float, compare, unary_float};
pub(crate) use pairs::{binary_scaled, common_dtype, converted, dtype_with, fit, floating, pair};
pub use rules::Rules;
