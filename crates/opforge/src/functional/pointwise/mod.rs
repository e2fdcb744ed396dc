//! One element in, one element out, composed of operators.

mod closeness;
mod complex;
mod complex_parts;
mod composed;
mod scaled;

pub use closeness::*;
pub use complex::*;
pub use complex_parts::*;
pub use composed::*;
pub(crate) use scaled::{Plus, binary_scaled};

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] =
    &[closeness::FUNCTIONS, complex::FUNCTIONS, complex_parts::FUNCTIONS, composed::FUNCTIONS];
