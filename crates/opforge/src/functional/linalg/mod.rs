//! Products, factors and norms of matrices.

mod addmm;
mod chains;
mod distance;
mod einsum;
mod factors;
mod inverse;
mod norms;
mod products;
mod spectrum;
mod tensor_systems;

pub use addmm::*;
pub use chains::*;
pub use distance::*;
pub use einsum::*;
pub use factors::*;
pub use inverse::*;
pub use norms::*;
pub use products::*;
pub use spectrum::*;
pub use tensor_systems::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[
    addmm::FUNCTIONS,
    chains::FUNCTIONS,
    distance::FUNCTIONS,
    einsum::FUNCTIONS,
    factors::FUNCTIONS,
    inverse::FUNCTIONS,
    norms::FUNCTIONS,
    products::FUNCTIONS,
    spectrum::FUNCTIONS,
    tensor_systems::FUNCTIONS,
];
