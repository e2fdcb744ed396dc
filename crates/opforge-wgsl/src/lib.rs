//! opforge's tensors on GPUs that take WGSL, by a [driver](driver::Driver) that is built apart: `opforge-wgpu` is one.
//!
//! Operators are those of the CPU, with their gradients: `opforge-gpu` makes kernels of what they compute, which are compiled on first use. What there is no
//! kernel for is computed on the CPU, unless [`set_fallback`] forbids it.

pub mod driver;

#[cfg(feature = "devices")]
mod backend;
#[cfg(feature = "devices")]
mod devices;
#[cfg(feature = "devices")]
mod gpu;
#[cfg(feature = "devices")]
mod kernel;
#[cfg(feature = "devices")]
mod memory;
#[cfg(feature = "devices")]
mod pipeline;
#[cfg(feature = "devices")]
mod places;

#[cfg(feature = "devices")]
pub use backend::set_fallback;
#[cfg(feature = "devices")]
pub use devices::{available, bring, device, is_open, synchronize};
