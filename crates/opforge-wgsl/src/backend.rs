//! The backend: a GPU's memory and kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use opforge::devices::{Backend, Fallback, Link};
use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_gpu::{Numbers, Program, Target, program_of, program_of_chain};
use opforge_runtime::{Kernel, Memory};

use crate::gpu::{Buffer, Compiled, Gpu};
use crate::kernel::Prepared;
use crate::places::Places;

/// A GPU that carries operators out.
pub(crate) struct Wgsl {
    pub gpu: Gpu,
    pub places: Places,
    /// Compiled kernels by their text.
    pub compiled: Mutex<HashMap<String, Compiled>>,
    target: Target,
    numbers: Numbers,
    /// Buffers that nobody needs any more: see [`Wgsl::retire`].
    retired: Mutex<Vec<Buffer>>,
}

impl Wgsl {
    pub fn new(gpu: Gpu) -> Self {
        // No driver promises that a multiplication and an addition are rounded once, nor that sums are computed as they are written.
        // 16 KiB of memory of a group are what WebGPU has everywhere.
        let target = Target {
            device: gpu.name,
            fused: false,
            approximates: false,
            reorders: true,
            doubles: gpu.doubles(),
            shared: 16 << 10,
        };
        let (compiled, retired, numbers) = (Mutex::default(), Mutex::default(), Numbers::of_words());
        Wgsl { gpu, places: Places::new(), compiled, target, numbers, retired }
    }

    /// Takes a buffer that nobody needs any more. It is let go of by who next asks for something: a thread that ends, and drops what it remembers, must not, since
    /// the driver's own memory of the thread may be gone already.
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
pub(crate) struct Added(pub &'static Wgsl);

impl Added {
    /// A program with its kernels compiled.
    fn prepared(&self, op: &'static str, program: Program) -> Result<Arc<dyn Kernel>> {
        let program = self.0.numbers.given(program);
        let compiled = program.launches.iter().map(|launch| self.0.kernel(op, &launch.kernel));
        let kernels = compiled.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Prepared { on: self.0, op, program, kernels, tables: OnceLock::new() }))
    }
}

static FALLBACK: Fallback = Fallback::unless("OPFORGE_WGPU_FALLBACK");

/// Has the CPU compute what there is no kernel for, as it does at first unless the environment variable `OPFORGE_WGPU_FALLBACK` is 0; or has that be an
/// error. Calls like those before keep the kernels that they have.
pub fn set_fallback(allowed: bool) {
    FALLBACK.set(allowed);
}

impl Backend for Added {
    fn memory(&self) -> &dyn Memory {
        self.0
    }

    fn falls_back(&self) -> bool {
        FALLBACK.is_allowed()
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
