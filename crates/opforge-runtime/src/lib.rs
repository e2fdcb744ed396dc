//! The runtime of opforge: devices, storage, the caching allocator, threads, streams and the virtual machine. It knows no operator.

mod fork;
mod kernel;
pub mod parallel;

pub use kernel::Kernel;
