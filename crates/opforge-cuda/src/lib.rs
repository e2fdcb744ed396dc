//! opforge's tensors on NVIDIA's GPUs.
//!
//! ```no_run
//! use opforge::{Device, Tensor};
//!
//! opforge_cuda::bring();
//! let device = Device::cuda_if_available(0)?;
//! let x = Tensor::new(&[1f32, 2.0, 3.0], &device)?;
//! assert_eq!(x.sqr()?.sum_all()?.to_scalar::<f32>()?, 14.0);
//! # Ok::<(), opforge::Error>(())
//! ```
//!
//! Operators are those of the CPU, with their gradients: [`opforge_gpu`] makes kernels of what they compute, NVRTC compiles them on first use, and they
//! are kept on disk. Products of matrices are cuBLAS' and convolutions and long attention cuDNN's, where they are there, and attention of halves has kernels by hand. These
//! libraries are looked for while the program runs ([`search_in`], `OPFORGE_CUDA_PATH`), so that one build serves machines with and without them.
//!
//! Every call is issued to one stream of its GPU and returns; what fails there is the error of who waits next, or, with `OPFORGE_SYNC=1`, of the call
//! itself.

mod attention;
mod backend;
mod blas;
mod blas_lt;
mod cache;
mod compiler;
mod convolution;
mod cudnn;
mod dense;
mod driver;
mod event;
mod flash;
mod fused;
mod gpu;
mod kept;
mod kernel;
mod library;
mod memory;
mod module;
mod parts;
mod precision;
mod product;
mod status;

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use opforge::{Device, Result, devices};

use backend::{Added, Cuda};
use driver::Driver;
use gpu::Gpu;

pub use backend::set_fallback;
pub use compiler::Compiler;
pub use cudnn::cudnn_version;
pub use event::Event;
pub use fused::set_least_attention_of_cudnn;
pub use gpu::{Properties, Usage};
pub use library::search_in;
pub use precision::{set_tf32_convolutions, set_tf32_products, tf32_convolutions, tf32_products};

/// The devices that were opened, by number.
static OPENED: Mutex<BTreeMap<usize, (Device, &'static Gpu)>> = Mutex::new(BTreeMap::new());

/// Makes [`Device::new_cuda`] and [`Device::cuda_if_available`] open GPUs. More calls than one do nothing.
pub fn bring() {
    Device::bring_cuda(device, count);
}

fn opened(number: usize) -> Result<(Device, &'static Gpu)> {
    let mut opened = OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(&found) = opened.get(&number) {
        return Ok(found);
    }
    let gpu: &'static Gpu = Box::leak(Box::new(Gpu::open(number)?));
    let cuda: &'static Cuda = Box::leak(Box::new(Cuda::new(gpu)));
    let device = devices::add(Box::leak(Box::new(Added(cuda))))?;
    opened.insert(number, (device, gpu));
    Ok((device, gpu))
}

/// The GPU of this number, `cuda:0` and so on, opened at the first call.
///
/// # Errors
/// [`opforge::Error::Device`] where there is none, or no driver; what the driver says.
pub fn device(number: usize) -> Result<Device> {
    Ok(opened(number)?.0)
}

/// How many GPUs there are: 0 where there is no driver.
pub fn count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| Driver::get().and_then(Driver::count).unwrap_or(0))
}

/// Whether a GPU was opened, which processes that are forked from now on cannot use.
pub fn is_open() -> bool {
    !OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_empty()
}

/// What the GPU of this number is.
///
/// # Errors
/// As [`device`].
pub fn properties(number: usize) -> Result<Properties> {
    gpu::properties(number)
}

/// How much of its memory is in use.
///
/// # Errors
/// As [`device`].
pub fn usage(number: usize) -> Result<Usage> {
    opened(number)?.1.usage()
}

/// Has the most that was in use counted from now on.
///
/// # Errors
/// As [`device`].
pub fn reset_peak(number: usize) -> Result<()> {
    opened(number)?.1.reset_peak()
}

/// Has tensors and kernels use this many bytes of it at most, from now on; [`opforge::Error::OutOfMemory`] is what would use more.
///
/// # Errors
/// As [`device`].
pub fn set_memory_limit(number: usize, nbytes: usize) -> Result<()> {
    opened(number)?.1.limit(nbytes);
    Ok(())
}

/// Gives memory that nobody uses, and which is kept for what comes next, back to the system.
///
/// # Errors
/// As [`device`]; what failed before.
pub fn empty_cache(number: usize) -> Result<()> {
    opened(number)?.1.trim()
}

/// Whether everything that was issued to the GPU has run.
///
/// # Errors
/// As [`device`]; what failed before.
pub fn is_idle(number: usize) -> Result<bool> {
    opforge_runtime::vm::synchronize()?;
    opened(number)?.1.is_idle()
}

/// Waits until everything that was issued to the GPU has run.
///
/// # Errors
/// As [`device`]; what failed before.
pub fn synchronize(number: usize) -> Result<()> {
    opforge_runtime::vm::synchronize()?;
    opened(number)?.1.wait("synchronize")
}
