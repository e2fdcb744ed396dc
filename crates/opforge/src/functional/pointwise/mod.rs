//! One element in, one element out, composed of operators.

mod closeness;
mod complex;
mod complex_functions;
mod complex_parts;
mod complex_products;
mod composed;
mod scaled;

pub(crate) use complex_functions::{PER_DECADE, PER_OCTAVE, by_parts};
pub(crate) use complex_products::{complex_product, complex_products};
pub(crate) use scaled::{Plus, binary_scaled};

subject! { closeness, complex, complex_parts, composed }
