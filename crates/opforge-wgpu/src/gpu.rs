//! A GPU that was opened, and its errors as values.

use opforge_core::{Error, Result};
use wgpu::{
    Adapter, Backends, DeviceDescriptor, ErrorFilter, ExperimentalFeatures, Features, Instance, InstanceDescriptor,
    MemoryHints, PollType, Trace,
};

/// A GPU and the queue of its work.
pub(crate) struct Gpu {
    /// What opforge calls it.
    pub name: &'static str,
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
    pub fn open(number: usize, adapter: &Adapter) -> Result<Gpu> {
        let name: &'static str = Box::leak(format!("wgpu:{number}").into_boxed_str());
        let features = adapter.features() & (Features::SHADER_F64 | Features::SHADER_INT64);
        let descriptor = DeviceDescriptor {
            label: Some(name),
            required_features: features,
            required_limits: adapter.limits(),
            experimental_features: ExperimentalFeatures::disabled(),
            memory_hints: MemoryHints::Performance,
            trace: Trace::Off,
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| Error::device("wgpu", "device", name, format!("one that opens: {error}")))?;
        // What no scope has caught belongs to no call; those that follow it fail themselves.
        device.on_uncaptured_error(std::sync::Arc::new(|_: wgpu::Error| {}));
        let has = |feature| features.contains(feature);
        let (doubles, long_integers) = (has(Features::SHADER_F64), has(Features::SHADER_INT64));
        Ok(Gpu { name, device, queue, doubles, long_integers })
    }

    /// What `work` gives, or the error that the device had meanwhile.
    pub fn checked<T>(&self, op: &'static str, work: impl FnOnce() -> T) -> Result<T> {
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
            Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfMemory { requested: 0, in_use: 0, limit: 0 }),
            Some(error) => Err(Error::Kernel { op: op.into(), message: format!("{}: {error}", self.name) }),
        }
    }

    /// Waits until everything that was issued has run.
    pub fn wait(&self) -> Result<()> {
        let waited = self.device.poll(PollType::Wait { submission_index: None, timeout: None });
        waited
            .map(drop)
            .map_err(|error| Error::Kernel { op: "wait".into(), message: format!("{}: {error}", self.name) })
    }

    /// Lets go of what has run, without waiting.
    pub fn tidy(&self) {
        // Who fails to wait is told so where a result is read.
        let _ = self.device.poll(PollType::Poll);
    }
}
