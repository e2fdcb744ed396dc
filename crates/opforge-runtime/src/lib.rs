//! The runtime of opforge: devices, storage, the caching allocator, threads, streams and the virtual machine. It knows no operator.

pub mod alloc;
mod device;
mod fork;
mod kernel;
pub mod parallel;
mod storage;
mod sync;
pub mod vm;

pub use device::Device;
pub use kernel::Kernel;
pub use storage::Storage;
