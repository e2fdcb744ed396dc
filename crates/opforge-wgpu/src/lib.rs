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
//! This crate is the driver: it opens GPUs, has memory of them, compiles and launches. `opforge-wgsl` makes devices of it. Built as the Python module
//! `opforge_wgpu` it is what `opforge` loads where it is installed (`make wheel-wgpu` packs it).

mod buffer;
mod gpu;
mod kernel;
#[cfg(feature = "python")]
mod python;
mod table;

pub use table::DRIVER;

#[cfg(feature = "devices")]
pub use devices::{available, device};
#[cfg(feature = "devices")]
pub use opforge_wgsl::{set_fallback, synchronize};

#[cfg(feature = "devices")]
mod devices {
    use opforge::{Device, Result};

    fn bring() -> Result<()> {
        // SAFETY: the functions are those of this crate, which do what is said of them.
        unsafe { opforge_wgsl::bring(&crate::DRIVER) }
    }

    /// The GPU of this number, opened at the first call.
    ///
    /// # Errors
    /// [`opforge::Error::Device`] where there is none, or the driver refuses.
    pub fn device(number: usize) -> Result<Device> {
        bring()?;
        opforge_wgsl::device(number)
    }

    /// What the GPUs are called, by number; none where no driver was found.
    pub fn available() -> &'static [String] {
        bring().map(|()| opforge_wgsl::available()).unwrap_or_default()
    }
}
