//! Where tensors are.

use std::fmt;
use std::sync::OnceLock;

use opforge_core::term::{Attributes, Term, unexpected};
use opforge_core::{DType, DeviceLocation, Error, Result};

use crate::memory::{HostMemory, Memory};

/// The devices that backends have brought, in the order of their numbers.
static ADDED: [OnceLock<&'static dyn Memory>; Device::MOST_ADDED] = [const { OnceLock::new() }; Device::MOST_ADDED];

/// Who opens CUDA devices, and counts them: see [`Device::bring_cuda`].
struct CudaDevices {
    open: fn(usize) -> Result<Device>,
    count: fn() -> usize,
}

static CUDA: OnceLock<CudaDevices> = OnceLock::new();

/// Where a tensor's data is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Device {
    /// Main memory.
    #[default]
    Cpu,
    /// Nowhere: tensors have dtypes and shapes, but no data.
    Meta,
    /// The device that a backend has [added](Device::add) under this number.
    Added(u8),
    /// candle's variant for CUDA devices; those of `opforge-cuda` are [`Device::Added`], which [`Device::is_cuda`] tells.
    Cuda(CudaDevice),
    /// A Metal device; there are none in this build.
    Metal(MetalDevice),
}

/// candle's handle of a CUDA device. Nothing is of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CudaDevice {}

/// A Metal device. There are none in this build, so nothing is of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetalDevice {}

impl Attributes for Device {
    fn type_name() -> String {
        "Device".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(self.name())
    }
    fn read(term: &Term) -> Result<Self> {
        let known = [Device::Cpu, Device::Meta].into_iter().chain(Device::added());
        let mut known = known.filter(|device| term.head() == Some(device.name()));
        known.next().ok_or_else(|| unexpected("device", term, "a device that is there"))
    }
}

impl Device {
    /// How many devices may be [added](Device::add).
    pub const MOST_ADDED: usize = 255;

    /// A new device with this memory.
    ///
    /// # Errors
    /// [`Error::Device`] when there are [`Device::MOST_ADDED`] already.
    pub fn add(memory: &'static dyn Memory) -> Result<Self> {
        let free = (0..).zip(&ADDED).find(|(_, slot)| slot.set(memory).is_ok());
        let full = || Error::device("add", "device", memory.name(), format!("at most {} devices", Self::MOST_ADDED));
        free.map(|(number, _)| Device::Added(number)).ok_or_else(full)
    }

    /// The devices that were [added](Device::add), in their order.
    pub fn added() -> impl Iterator<Item = Device> {
        (0..).zip(&ADDED).take_while(|(_, slot)| slot.get().is_some()).map(|(number, _)| Device::Added(number))
    }

    /// What the device is called: `"cpu"`, `"meta"`, `"cuda:0"`.
    pub fn name(&self) -> &'static str {
        match self {
            Device::Cpu => "cpu",
            Device::Meta => "meta",
            Device::Added(_) => self.memory().map_or("absent", Memory::name),
            Device::Cuda(none) => match *none {},
            Device::Metal(none) => match *none {},
        }
    }

    /// The device's memory.
    ///
    /// # Errors
    /// [`Error::Device`] for one without data.
    pub fn memory(&self) -> Result<&'static dyn Memory> {
        let added = match *self {
            Device::Cpu => return Ok(&HostMemory),
            Device::Meta => None,
            Device::Added(number) => ADDED.get(usize::from(number)).and_then(OnceLock::get),
            Device::Cuda(none) => match none {},
            Device::Metal(none) => match none {},
        };
        added.copied().ok_or_else(|| Error::device("storage", "device", self, "a device with data"))
    }

    /// Whether this is the CPU.
    pub fn is_cpu(&self) -> bool {
        matches!(self, Device::Cpu)
    }
    /// Whether tensors here have no data.
    pub fn is_meta(&self) -> bool {
        matches!(self, Device::Meta)
    }
    /// Whether this is a CUDA device.
    pub fn is_cuda(&self) -> bool {
        self.cuda_number().is_some()
    }
    fn cuda_number(&self) -> Option<usize> {
        self.name().strip_prefix("cuda:")?.parse().ok()
    }
    /// Whether this is a Metal device. There are none in this build.
    pub fn is_metal(&self) -> bool {
        false
    }
    /// Says who opens CUDA devices and counts them, for [`Device::new_cuda`] and [`Device::cuda_if_available`]; the first to say so is asked.
    pub fn bring_cuda(open: fn(usize) -> Result<Device>, count: fn() -> usize) {
        // The second is no other one in a program that has one crate for them.
        let _ = CUDA.set(CudaDevices { open, count });
    }
    /// The CUDA device of that number.
    ///
    /// # Errors
    /// [`Error::NotCompiledWithCudaSupport`] where nobody [brings](Device::bring_cuda) them, as `opforge_cuda::bring` does; [`Error::Device`] where there is
    /// none, or no driver.
    pub fn new_cuda(ordinal: usize) -> Result<Self> {
        CUDA.get().map_or(Err(Error::NotCompiledWithCudaSupport), |cuda| (cuda.open)(ordinal))
    }
    /// As [`Device::new_cuda`]: every device has a stream of its own.
    ///
    /// # Errors
    /// As [`Device::new_cuda`].
    pub fn new_cuda_with_stream(ordinal: usize) -> Result<Self> {
        Self::new_cuda(ordinal)
    }
    /// This device as candle's handle of one.
    ///
    /// # Errors
    /// [`Error::NotCompiledWithCudaSupport`]: there are no such handles.
    pub fn as_cuda_device(&self) -> Result<&CudaDevice> {
        Err(Error::NotCompiledWithCudaSupport)
    }
    /// This device as a Metal device.
    ///
    /// # Errors
    /// [`Error::Device`]: this build has no Metal.
    pub fn as_metal_device(&self) -> Result<&MetalDevice> {
        Err(Error::NotCompiledWithMetalSupport)
    }
    /// Calls a function while this is the thread's current device, which matters for CUDA alone.
    pub fn with_context<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }
    /// The CUDA device of that number where somebody [brings](Device::bring_cuda) them and there are any, else the CPU.
    ///
    /// # Errors
    /// Those of [`Device::new_cuda`], where there are some.
    pub fn cuda_if_available(ordinal: usize) -> Result<Self> {
        if Self::cuda_count() > 0 { Self::new_cuda(ordinal) } else { Ok(Device::Cpu) }
    }
    /// How many CUDA devices there are: 0 where nobody [brings](Device::bring_cuda) them.
    pub fn cuda_count() -> usize {
        CUDA.get().map_or(0, |cuda| (cuda.count)())
    }
    /// The Metal device of that number.
    ///
    /// # Errors
    /// [`Error::Device`]: this build has no Metal.
    pub fn new_metal(_ordinal: usize) -> Result<Self> {
        Err(Error::NotCompiledWithMetalSupport)
    }
    /// The Metal device of that number where there is one, else the CPU.
    ///
    /// # Errors
    /// None in this build.
    pub fn metal_if_available(_ordinal: usize) -> Result<Self> {
        Ok(Device::Cpu)
    }
    /// Where the device is.
    pub fn location(&self) -> DeviceLocation {
        match self {
            Device::Cpu => DeviceLocation::Cpu,
            Device::Meta => DeviceLocation::Meta,
            Device::Added(id) => match self.cuda_number() {
                Some(gpu_id) => DeviceLocation::Cuda { gpu_id },
                None => DeviceLocation::Added { id: (*id).into() },
            },
            Device::Cuda(none) => match *none {},
            Device::Metal(none) => match *none {},
        }
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
        f.write_str(self.name())
    }
}
