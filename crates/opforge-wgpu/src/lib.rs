//! opforge's tensors on GPUs, by wgpu: Vulkan, Metal and DX12, whichever the system has.
//!
//! ```no_run
//! use opforge::{DType, Device, Tensor};
//!
//! let device = opforge_wgpu::device(0)?;
//! let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?.to_device(&device)?;
//! assert_eq!(x.sqr()?.sum_all()?.to_scalar::<f32>()?, 14.0);
//! # Ok::<(), opforge::Error>(())
//! ```
//!
//! Operators are those of the CPU, with their gradients: [`opforge_gpu`] makes kernels of what they compute, which are compiled on first use.

mod backend;
mod gpu;
mod kernel;
mod memory;
mod pipeline;
mod places;

use std::collections::BTreeMap;
use std::sync::Mutex;

use opforge::{Device, Error, Result, devices};

use backend::{Added, Wgpu};
use gpu::Gpu;

/// The devices that were opened, by number.
static OPENED: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());

/// The GPU of this number, opened at the first call.
///
/// # Errors
/// [`Error::Device`] where there is none, or the driver refuses.
pub fn device(number: usize) -> Result<Device> {
    let mut opened = OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(&device) = opened.get(&number) {
        return Ok(device);
    }
    let adapters = gpu::adapters();
    let accepted = || match adapters.len() {
        0 => "no number: no driver of a GPU was found".to_owned(),
        n => format!("0 to {}", n - 1),
    };
    let Some(adapter) = adapters.get(number) else {
        return Err(Error::device("wgpu", "number", number, accepted()));
    };
    let gpu: &'static Wgpu = Box::leak(Box::new(Wgpu::new(Gpu::open(number, adapter)?)));
    let device = devices::add(Box::leak(Box::new(Added(gpu))))?;
    opened.insert(number, device);
    Ok(device)
}

/// What the GPUs are called, by number; none where no driver was found.
pub fn available() -> Vec<String> {
    gpu::adapters().iter().map(gpu::describe).collect()
}
