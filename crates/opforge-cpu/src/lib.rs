//! The CPU engine of opforge: kernels over raw buffers and layouts, with SIMD chosen at run time. It knows no tensor.

pub mod copy;
pub mod elementwise;
pub mod matmul;
mod scratch;
pub mod simd;
