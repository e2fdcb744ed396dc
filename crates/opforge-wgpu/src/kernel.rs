//! Programs as kernels of the runtime.

use std::sync::{Arc, OnceLock};

use opforge_core::Result;
use opforge_gpu::kernel::LANES;
use opforge_gpu::{Launch, Memory, Place, Program};
use opforge_runtime::{Argument, Context, Kernel};
use wgpu::{
    BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, CommandEncoder,
    CommandEncoderDescriptor, ComputePassDescriptor,
};

use crate::backend::Wgpu;
use crate::pipeline::Pipeline;

/// Groups of a launch at most: more work is shared by these.
const MOST_GROUPS: usize = 1 << 14;

/// A program with its compiled kernels.
pub(crate) struct Prepared {
    pub on: &'static Wgpu,
    pub op: &'static str,
    pub program: Program,
    /// One a launch.
    pub pipelines: Vec<Arc<Pipeline>>,
    /// The program's tables, which the first run uploads.
    pub tables: OnceLock<Vec<Option<Buffer>>>,
}

/// A buffer, and the byte where a tensor begins.
type Located = (Buffer, usize);

impl Prepared {
    fn tables(&self) -> Result<&[Option<Buffer>]> {
        if let Some(tables) = self.tables.get() {
            return Ok(tables);
        }
        let upload = |memory: &Memory| match memory {
            Memory::Space(_) => Ok(None),
            Memory::Table(bytes) => {
                let buffer = self.on.storage(bytes.len())?;
                self.on.gpu.checked(self.op, || self.on.gpu.queue.write_buffer(&buffer, 0, bytes))?;
                Ok(Some(buffer))
            }
        };
        let tables = self.program.scratch.iter().map(upload).collect::<Result<Vec<_>>>()?;
        Ok(self.tables.get_or_init(|| tables))
    }

    /// Where a launch's buffers are.
    fn located(&self, launch: &Launch, memory: [&[Located]; 3]) -> Vec<Located> {
        let of = |place: &Place| match *place {
            Place::Input(i) => memory[0][i].clone(),
            Place::Output(i) => memory[1][i].clone(),
            Place::Scratch(i) => memory[2][i].clone(),
        };
        launch.places.iter().map(of).collect()
    }

    /// The uniform buffer: each buffer's first element, and the parameters.
    fn uniforms(&self, launch: &Launch, at: &[Located]) -> Result<Buffer> {
        let of_buffers = at.iter().zip(&launch.kernel.buffers);
        let firsts = of_buffers.map(|((_, offset), buffer)| (offset / buffer.dtype.size_in_bytes()) as u32);
        // The last word is 0.
        let words = firsts.chain(launch.parameters.iter().copied()).chain([0]);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let device = &self.on.gpu.device;
        let size = bytes.len() as u64;
        let buffer = device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        self.on.gpu.queue.write_buffer(&buffer, 0, &bytes);
        Ok(buffer)
    }

    fn encode(
        &self,
        encoder: &mut CommandEncoder,
        (launch, pipeline): (&Launch, &Pipeline),
        at: &[Located],
        status: Option<&Buffer>,
    ) -> Result<()> {
        let device = &self.on.gpu.device;
        let uniforms = self.uniforms(launch, at)?;
        let entry = |(binding, buffer): (usize, &Buffer)| (binding as u32, buffer.clone());
        let mut bound: Vec<(u32, Buffer)> = at.iter().map(|(buffer, _)| buffer).enumerate().map(entry).collect();
        if let (Some(status), true) = (status, launch.kernel.can_fail()) {
            bound.push((opforge_gpu::print::STATUS_BINDING, status.clone()));
        }
        let entries: Vec<BindGroupEntry<'_>> = bound
            .iter()
            .map(|(binding, buffer)| BindGroupEntry { binding: *binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = |layout, entries: &[BindGroupEntry<'_>]| {
            device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries })
        };
        let buffers = group(&pipeline.buffers, &entries);
        let entry = BindGroupEntry { binding: 0, resource: uniforms.as_entire_binding() };
        let parameters = group(&pipeline.parameters, &[entry]);
        let groups = if launch.kernel.is_of_groups() { launch.count } else { launch.count.div_ceil(LANES) };
        let groups = groups.clamp(1, MOST_GROUPS) as u32;
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline.of);
        pass.set_bind_group(0, &buffers, &[]);
        pass.set_bind_group(1, &parameters, &[]);
        pass.dispatch_workgroups(groups, 1, 1);
        Ok(())
    }

    /// Runs all launches, and waits for those that may fail.
    fn run(&self, inputs: &[Located], outputs: &[Located]) -> Result<()> {
        let tables = self.tables()?;
        let own = |(memory, table): (&Memory, &Option<Buffer>)| match (memory, table) {
            (_, Some(table)) => Ok((table.clone(), 0)),
            (Memory::Space(nbytes), _) => Ok((self.on.storage(*nbytes)?, 0)),
            (Memory::Table(bytes), _) => Ok((self.on.storage(bytes.len())?, 0)),
        };
        let own = self.program.scratch.iter().zip(tables).map(own).collect::<Result<Vec<Located>>>()?;
        let fails = self.program.launches.iter().any(|launch| launch.kernel.can_fail());
        let status = if fails { Some(self.on.storage(16)?) } else { None };
        self.on.gpu.checked(self.op, || {
            let mut encoder = self.on.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            if let Some(status) = &status {
                encoder.clear_buffer(status, 0, None);
            }
            for (launch, pipeline) in self.program.launches.iter().zip(&self.pipelines) {
                let at = self.located(launch, [inputs, outputs, &own]);
                self.encode(&mut encoder, (launch, pipeline), &at, status.as_ref())?;
            }
            self.on.gpu.queue.submit([encoder.finish()]);
            Ok::<(), opforge_core::Error>(())
        })??;
        self.on.tidy();
        let Some(status) = status else { return Ok(()) };
        let bytes = self.on.read(&status, 0, 12)?;
        let word = |i: usize| u32::from_ne_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        self.program.check(self.op, [word(0), word(1), word(2)])
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Compiled kernels stay with the backend.
        self.on.retire(self.tables.take().into_iter().flatten().flatten());
    }
}

impl Kernel for Prepared {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let place = |address: usize| self.on.places.find(address);
        let inputs = inputs.iter().map(|x| place(x.to_read()?.addr())).collect::<Result<Vec<_>>>()?;
        let outputs = outputs.iter().map(|y| place(y.to_write()?.addr())).collect::<Result<Vec<_>>>()?;
        self.run(&inputs, &outputs)
    }

    fn duration(&self) -> u64 {
        // What a launch takes until it is handed over.
        20_000 * self.program.launches.len() as u64
    }
}
