//! The backend: a GPU's memory and kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use opforge::devices::{Backend, Fallback, Link};
use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_gpu::{Program, Target, program_of, program_of_chain};
use opforge_runtime::{Kernel, Memory};

use crate::blas::Blas;
use crate::gpu::Gpu;
use crate::kernel::Prepared;
use crate::module::Function;

/// A GPU that carries operators out.
pub(crate) struct Cuda {
    pub gpu: &'static Gpu,
    target: Target,
    compiled: Mutex<HashMap<Arc<str>, Function>>,
    blas: OnceLock<Option<Blas>>,
}

impl Cuda {
    pub fn new(gpu: &'static Gpu) -> Self {
        // CUDA's compilers keep to the order of sums, and multiply-add is theirs.
        let target = Target { device: gpu.name, fused: true, reorders: false, doubles: true };
        Cuda { gpu, target, compiled: Mutex::default(), blas: OnceLock::new() }
    }

    /// Loaded kernels by their text.
    pub fn compiled(&self) -> MutexGuard<'_, HashMap<Arc<str>, Function>> {
        self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Cuda {
    /// cuBLAS, where it is there.
    pub fn blas(&self) -> Option<&Blas> {
        self.blas.get_or_init(|| Blas::of(self.gpu)).as_ref()
    }

    /// A kernel of what an operator computes, written for it.
    pub fn written(
        &self,
        op: &'static str,
        lowering: &Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn Kernel>> {
        self.prepared(op, program_of(&self.target, op, lowering, inputs, outputs)?)
    }

    /// A program with its kernels loaded.
    fn prepared(&self, op: &'static str, program: Program) -> Result<Arc<dyn Kernel>> {
        let functions = program.launches.iter().map(|launch| self.function(op, &launch.kernel));
        let functions = functions.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Prepared { on: self.gpu, op, program, functions, tables: OnceLock::new() }))
    }
}

/// A backend that lives as long as the program, as devices do.
#[derive(Clone, Copy)]
pub(crate) struct Added(pub &'static Cuda);

static FALLBACK: Fallback = Fallback::unless("OPFORGE_CUDA_FALLBACK");

/// Has the CPU compute what there is no kernel for, as it does at first unless the environment variable `OPFORGE_CUDA_FALLBACK` is 0; or has that be an
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
        let product = match &lowering {
            Lowering::Contract(form) => self.0.product(op, form, inputs, outputs[0]),
            _ => None,
        };
        product.unwrap_or_else(|| self.0.written(op, &lowering, inputs, outputs))
    }

    fn chain(&self, links: &[Link<'_>]) -> Result<Arc<dyn Kernel>> {
        self.0.prepared(links[0].op, program_of_chain(&self.0.target, links)?)
    }
}
