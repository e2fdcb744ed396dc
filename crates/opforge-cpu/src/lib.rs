//! The CPU engine of opforge: kernels over raw buffers and layouts, with SIMD chosen at run time. It knows no tensor.

pub mod copy;
pub mod elementwise;
pub mod matmul;
pub mod reduce;
pub mod simd;

mod plan;
mod scratch;
mod stored;
#[cfg(test)]
mod testing;
