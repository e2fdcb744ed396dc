//! Compiled kernels, by their text.

use std::sync::Arc;

use opforge_core::{DType, Error, Result};
use opforge_gpu::Kernel;
use opforge_gpu::print::{STATUS_BINDING, wgsl};
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline,
    ComputePipelineDescriptor, PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderSource, ShaderStages,
};

use crate::backend::Wgpu;

/// A compiled kernel, and how its buffers and parameters are bound.
pub(crate) struct Pipeline {
    pub of: ComputePipeline,
    pub buffers: BindGroupLayout,
    pub parameters: BindGroupLayout,
}

fn entry(binding: u32, ty: BufferBindingType) -> BindGroupLayoutEntry {
    let ty = BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    BindGroupLayoutEntry { binding, visibility: ShaderStages::COMPUTE, ty, count: None }
}

impl Wgpu {
    /// The compiled kernel, from before where an equal one was compiled.
    pub(crate) fn pipeline(&self, op: &'static str, kernel: &Kernel) -> Result<Arc<Pipeline>> {
        self.check(op, kernel)?;
        let text = wgsl(kernel, op, self.gpu.name)?;
        let mut compiled = self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(pipeline) = compiled.get(&text) {
            return Ok(Arc::clone(pipeline));
        }
        let pipeline = Arc::new(self.compile(op, kernel, &text)?);
        compiled.insert(text, Arc::clone(&pipeline));
        Ok(pipeline)
    }

    /// Fails for dtypes, and numbers of buffers, that the device has not.
    fn check(&self, op: &'static str, kernel: &Kernel) -> Result<()> {
        let refuse = |argument, given: &str, accepted: &str| {
            Err(Error::device(op, argument, given, format!("{accepted} on {}", self.gpu.name)))
        };
        if !self.gpu.doubles && kernel.uses(|dtype| dtype == DType::F64) {
            return refuse("dtype", "f64", "floats of 32 bits at most");
        }
        if !self.gpu.long_integers && kernel.uses(|dtype| matches!(dtype, DType::I64 | DType::U64)) {
            return refuse("dtype", "integers of 64 bits", "integers of 32 bits at most");
        }
        let most = self.gpu.device.limits().max_storage_buffers_per_shader_stage as usize;
        match kernel.buffers.len() + usize::from(kernel.can_fail()) {
            count if count > most => {
                refuse("inputs", &format!("{count} tensors"), &format!("at most {most} at a time"))
            }
            _ => Ok(()),
        }
    }

    fn compile(&self, op: &'static str, kernel: &Kernel, text: &str) -> Result<Pipeline> {
        let storage = BufferBindingType::Storage { read_only: false };
        let mut entries: Vec<_> = (0..kernel.buffers.len()).map(|i| entry(i as u32, storage)).collect();
        entries.extend(kernel.can_fail().then(|| entry(STATUS_BINDING, storage)));
        let device = &self.gpu.device;
        let layout =
            |entries: &[_]| device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries });
        self.gpu.checked(op, || {
            let (buffers, parameters) = (layout(&entries), layout(&[entry(0, BufferBindingType::Uniform)]));
            let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&buffers), Some(&parameters)],
                immediate_size: 0,
            });
            let source = ShaderSource::Wgsl(text.into());
            let module = device.create_shader_module(ShaderModuleDescriptor { label: Some(op), source });
            let of = device.create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(op),
                layout: Some(&layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: Default::default(),
                cache: None,
            });
            Pipeline { of, buffers, parameters }
        })
    }
}
