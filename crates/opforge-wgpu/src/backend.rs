//! The backend: a GPU's memory and kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use opforge::devices::{Backend, Link};
use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_gpu::{Program, Target, program_of, program_of_chain};
use opforge_runtime::{Kernel, Memory};

use wgpu::Buffer;

use crate::gpu::Gpu;
use crate::kernel::Prepared;
use crate::pipeline::Pipeline;
use crate::places::Places;

/// A GPU that carries operators out.
pub(crate) struct Wgpu {
    pub gpu: Gpu,
    pub places: Places,
    /// Compiled kernels by their text.
    pub compiled: Mutex<HashMap<String, Arc<Pipeline>>>,
    target: Target,
    /// Buffers that nobody needs any more: see [`Wgpu::retire`].
    retired: Mutex<Vec<Buffer>>,
}

impl Wgpu {
    pub fn new(gpu: Gpu) -> Self {
        // No driver promises that a multiplication and an addition are rounded once, nor that sums are computed as they are written.
        let target = Target { device: gpu.name, fused: false, reorders: true, doubles: gpu.doubles };
        Wgpu { gpu, places: Places::new(), compiled: Mutex::default(), target, retired: Mutex::default() }
    }

    /// Takes a buffer that nobody needs any more. It is let go of by who next asks for something: a thread that ends, and drops what it remembers, must not, since
    /// wgpu's own memory of the thread may be gone already.
    pub fn retire(&self, buffer: impl IntoIterator<Item = Buffer>) {
        self.retired.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(buffer);
    }

    /// Lets go of retired buffers, and of what has run.
    pub fn tidy(&self) {
        let retired = std::mem::take(&mut *self.retired.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        drop(retired);
        self.gpu.tidy();
    }
}

/// A backend that lives as long as the program, as devices do.
#[derive(Clone, Copy)]
pub(crate) struct Added(pub &'static Wgpu);

impl Added {
    /// A program with its kernels compiled.
    fn prepared(&self, op: &'static str, program: Program) -> Result<Arc<dyn Kernel>> {
        let compiled = program.launches.iter().map(|launch| self.0.pipeline(op, &launch.kernel));
        let pipelines = compiled.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Prepared { on: self.0, op, program, pipelines, tables: OnceLock::new() }))
    }
}

impl Backend for Added {
    fn memory(&self) -> &dyn Memory {
        self.0
    }

    fn kernel(
        &self,
        op: &'static str,
        lowering: Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn Kernel>> {
        self.prepared(op, program_of(&self.0.target, op, &lowering, inputs, outputs)?)
    }

    fn chain(&self, links: &[Link<'_>]) -> Result<Arc<dyn Kernel>> {
        self.prepared(links[0].op, program_of_chain(&self.0.target, links)?)
    }
}
