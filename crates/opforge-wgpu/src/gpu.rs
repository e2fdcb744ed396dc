//! A GPU that was opened, and its errors as values.

use opforge_wgsl::driver::Failure;
use wgpu::{
    Adapter, Backends, DeviceDescriptor, ErrorFilter, ExperimentalFeatures, Features, Instance, InstanceDescriptor,
    MemoryHints, PollType, Trace,
};

/// What a call fails with: a code of [`Failure`]'s, and what to say.
pub(crate) struct Fault(pub u32, pub String);

pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// The fault of what `error` says.
pub(crate) fn other(error: impl std::fmt::Display) -> Fault {
    Fault(Failure::OTHER, error.to_string())
}

/// A GPU and the queue of its work.
pub(crate) struct Gpu {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    /// Whether kernels may compute in f64.
    pub doubles: bool,
    /// Whether they may compute in integers of 64 bits.
    pub long_integers: bool,
}

/// The GPUs that the system's drivers offer.
pub(crate) fn adapters() -> Vec<Adapter> {
    let backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    let descriptor = InstanceDescriptor { backends, ..InstanceDescriptor::new_without_display_handle() };
    pollster::block_on(Instance::new(descriptor).enumerate_adapters(backends))
}

/// What an adapter is called, and by what it is driven.
pub(crate) fn describe(adapter: &Adapter) -> String {
    let info = adapter.get_info();
    format!("{} ({})", info.name, info.backend)
}

impl Gpu {
    /// Opens an adapter with all that it can do.
    pub fn open(adapter: &Adapter) -> Result<Gpu> {
        let features = adapter.features() & (Features::SHADER_F64 | Features::SHADER_INT64);
        let descriptor = DeviceDescriptor {
            label: Some("opforge"),
            required_features: features,
            required_limits: adapter.limits(),
            experimental_features: ExperimentalFeatures::disabled(),
            memory_hints: MemoryHints::Performance,
            trace: Trace::Off,
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(other)?;
        // What no scope has caught belongs to no call; those that follow it fail themselves.
        device.on_uncaptured_error(std::sync::Arc::new(|_: wgpu::Error| {}));
        let has = |feature| features.contains(feature);
        let (doubles, long_integers) = (has(Features::SHADER_F64), has(Features::SHADER_INT64));
        Ok(Gpu { device, queue, doubles, long_integers })
    }

    /// What `work` gives, or the error that the device had meanwhile.
    pub fn checked<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        let filters = [ErrorFilter::Internal, ErrorFilter::OutOfMemory, ErrorFilter::Validation];
        let mut scopes = filters.map(|filter| Some(self.device.push_error_scope(filter)));
        let result = work();
        // The innermost first.
        let mut failure = None;
        for scope in scopes.iter_mut().rev().filter_map(Option::take) {
            failure = pollster::block_on(scope.pop()).or(failure);
        }
        match failure {
            None => Ok(result),
            Some(wgpu::Error::OutOfMemory { source }) => Err(Fault(Failure::OUT_OF_MEMORY, source.to_string())),
            Some(error) => Err(other(error)),
        }
    }

    /// Waits until everything that was issued has run.
    pub fn wait(&self) -> Result<()> {
        self.device.poll(PollType::Wait { submission_index: None, timeout: None }).map(drop).map_err(other)
    }

    /// Lets go of what has run, without waiting.
    pub fn tidy(&self) {
        // Who fails to wait is told so where a result is read.
        let _ = self.device.poll(PollType::Poll);
    }
}
