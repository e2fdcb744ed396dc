//! Compiled kernels, and their launches.

use wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    Buffer, BufferBindingType, BufferDescriptor, BufferUsages, CommandEncoder, CommandEncoderDescriptor,
    ComputePassDescriptor, ComputePipeline, ComputePipelineDescriptor, PipelineLayoutDescriptor,
    ShaderModuleDescriptor, ShaderSource, ShaderStages,
};

use crate::gpu::{Gpu, Result};

/// A compiled kernel, and how its buffers and parameters are bound.
pub(crate) struct Kernel {
    pipeline: ComputePipeline,
    buffers: BindGroupLayout,
    parameters: BindGroupLayout,
    /// The binding of what it notes failures in.
    status: Option<u32>,
}

/// A launch of a kernel.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub buffers: Vec<&'a Buffer>,
    pub status: Option<&'a Buffer>,
    pub uniforms: &'a [u8],
    pub groups: u32,
}

fn entry(binding: u32, ty: BufferBindingType) -> BindGroupLayoutEntry {
    let ty = BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    BindGroupLayoutEntry { binding, visibility: ShaderStages::COMPUTE, ty, count: None }
}

fn bind(binding: u32, buffer: &Buffer) -> BindGroupEntry<'_> {
    BindGroupEntry { binding, resource: buffer.as_entire_binding() }
}

impl Gpu {
    /// Compiles a kernel of so many buffers.
    pub fn compile(&self, text: &str, buffers: u32, status: Option<u32>) -> Result<Kernel> {
        let storage = BufferBindingType::Storage { read_only: false };
        let entries: Vec<_> = (0..buffers).chain(status).map(|binding| entry(binding, storage)).collect();
        let layout =
            |entries: &[_]| self.device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries });
        self.checked(|| {
            let (buffers, parameters) = (layout(&entries), layout(&[entry(0, BufferBindingType::Uniform)]));
            let layout = self.device.create_pipeline_layout(&PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&buffers), Some(&parameters)],
                immediate_size: 0,
            });
            let source = ShaderSource::Wgsl(text.into());
            let module = self.device.create_shader_module(ShaderModuleDescriptor { label: None, source });
            let pipeline = self.device.create_compute_pipeline(&ComputePipelineDescriptor {
                label: None,
                layout: Some(&layout),
                module: &module,
                entry_point: Some("main"),
                compilation_options: Default::default(),
                cache: None,
            });
            Kernel { pipeline, buffers, parameters, status }
        })
    }

    fn uniforms(&self, bytes: &[u8]) -> Buffer {
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let descriptor = BufferDescriptor { label: None, size: bytes.len() as u64, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        self.queue.write_buffer(&buffer, 0, bytes);
        buffer
    }

    fn encode(&self, encoder: &mut CommandEncoder, launch: &Launch<'_>) {
        let uniforms = self.uniforms(launch.uniforms);
        let status = launch.kernel.status.zip(launch.status);
        let bound = (0..).zip(launch.buffers.iter().copied()).chain(status);
        let entries: Vec<BindGroupEntry<'_>> = bound.map(|(binding, buffer)| bind(binding, buffer)).collect();
        let group = |layout, entries: &[BindGroupEntry<'_>]| {
            self.device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries })
        };
        let buffers = group(&launch.kernel.buffers, &entries);
        let parameters = group(&launch.kernel.parameters, &[bind(0, &uniforms)]);
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(&launch.kernel.pipeline);
        pass.set_bind_group(0, &buffers, &[]);
        pass.set_bind_group(1, &parameters, &[]);
        pass.dispatch_workgroups(launch.groups, 1, 1);
    }

    /// Issues launches, one after the other.
    pub fn run(&self, launches: &[Launch<'_>]) -> Result<()> {
        self.checked(|| {
            let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
            launches.iter().for_each(|launch| self.encode(&mut encoder, launch));
            self.queue.submit([encoder.finish()]);
        })
    }
}
