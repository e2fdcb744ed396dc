//! Products, factors and norms of matrices.

mod addmm;
mod chains;
pub(crate) mod distance;
mod einsum;
mod factors;
mod inverse;
mod norms;
mod products;
mod spectrum;
mod tensor_systems;

subject! { addmm, chains, distance, einsum, factors, inverse, norms, products, spectrum, tensor_systems }
