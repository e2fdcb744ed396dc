use std::fmt;

use opforge_core::{DType, Error, Result};

/// Where a tensor's data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// Main memory.
    #[default]
    Cpu,
    /// Nowhere: tensors have dtypes and shapes, but no data.
    Meta,
}

impl Device {
    /// Whether this is the CPU.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Device::Cpu)
    }
    /// Whether tensors here have no data.
    pub fn is_meta(&self) -> bool {
        matches!(self, Device::Meta)
    }
    /// Whether this is a CUDA device. There are none in this build.
    pub fn is_cuda(&self) -> bool {
        false
    }
    /// Whether this is a Metal device. There are none in this build.
    pub fn is_metal(&self) -> bool {
        false
    }
    /// The CUDA device of that number.
    ///
    /// # Errors
    /// [`Error::Device`]: this build has no CUDA.
    pub fn new_cuda(ordinal: usize) -> Result<Self> {
        Err(Error::device("new_cuda", "ordinal", ordinal, "cpu: this build has no CUDA"))
    }
    /// The CUDA device of that number where there is one, else the CPU.
    ///
    /// # Errors
    /// None in this build.
    pub fn cuda_if_available(_ordinal: usize) -> Result<Self> {
        Ok(Device::Cpu)
    }
    /// Whether both are the same device.
    pub fn same_device(&self, other: &Self) -> bool {
        self == other
    }
    /// Whether kernels take bf16.
    pub fn supports_bf16(&self) -> bool {
        true
    }
    /// bf16 on devices that compute in it; the CPU computes in f32.
    pub fn bf16_default_to_f32(&self) -> DType {
        DType::F32
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Device::Cpu => "cpu",
            Device::Meta => "meta",
        })
    }
}
