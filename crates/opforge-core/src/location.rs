//! Where devices are, as errors and programs name them.

/// Where a device is, as errors and programs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceLocation {
    /// Main memory.
    Cpu,
    /// A CUDA device.
    Cuda {
        /// Its number.
        gpu_id: usize,
    },
    /// A Metal device; there are none in this build.
    Metal {
        /// Its number.
        gpu_id: usize,
    },
    /// Nowhere.
    Meta,
    /// A device that a backend has added.
    Added {
        /// Its number.
        id: usize,
    },
}

impl std::fmt::Display for DeviceLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceLocation::Cpu => f.write_str("cpu"),
            DeviceLocation::Cuda { gpu_id } => write!(f, "cuda:{gpu_id}"),
            DeviceLocation::Metal { gpu_id } => write!(f, "metal:{gpu_id}"),
            DeviceLocation::Meta => f.write_str("meta"),
            DeviceLocation::Added { id } => write!(f, "added:{id}"),
        }
    }
}
