//! One element in, one element out, composed of operators.

mod closeness;
mod complex;
mod complex_parts;
mod composed;
mod scaled;

pub(crate) use scaled::{Plus, binary_scaled};

subject! { closeness, complex, complex_parts, composed }
