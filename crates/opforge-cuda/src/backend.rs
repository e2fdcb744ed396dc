//! The backend: a GPU's memory and kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use opforge::devices::{Backend, Fallback, Link};
use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_gpu::{self as gpu, Numbers, Program, Target, program_of, program_of_chain};
use opforge_runtime::{Kernel, Memory};
use opforge_tile::forms::Windowed;

use crate::blas::Blas;
use crate::blas_lt::BlasLt;
use crate::cudnn::Dnn;
use crate::gpu::Gpu;
use crate::kernel::Prepared;
use crate::module::Function;

/// A GPU that carries operators out.
pub(crate) struct Cuda {
    pub gpu: &'static Gpu,
    /// What kernels are written for.
    pub target: Target,
    compiled: Mutex<HashMap<Arc<gpu::Kernel>, Function>>,
    /// Loaded kernels by hand, by their text.
    texts: Mutex<HashMap<Arc<str>, Function>>,
    numbers: Numbers,
    blas: OnceLock<Option<Blas>>,
    blas_lt: OnceLock<Option<BlasLt>>,
    dnn: OnceLock<Option<Dnn>>,
}

impl Cuda {
    pub fn new(gpu: &'static Gpu) -> Self {
        // CUDA's compilers keep to the order of sums, and multiply-add is theirs; blocks of every GPU have 48 KiB of shared memory.
        let target = Target {
            device: gpu.name,
            fused: true,
            approximates: true,
            reorders: false,
            doubles: true,
            shared: 48 << 10,
        };
        let (compiled, texts, blas, blas_lt, dnn) = Default::default();
        Cuda { gpu, target, compiled, texts, numbers: Numbers::of_pairs(), blas, blas_lt, dnn }
    }

    /// Loaded kernels by hand.
    pub fn texts(&self) -> MutexGuard<'_, HashMap<Arc<str>, Function>> {
        self.texts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Loaded kernels.
    pub fn compiled(&self) -> MutexGuard<'_, HashMap<Arc<gpu::Kernel>, Function>> {
        self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Cuda {
    /// cuBLAS, where it is there.
    pub fn blas(&self) -> Option<&Blas> {
        self.blas.get_or_init(|| Blas::of(self.gpu)).as_ref()
    }

    /// cuBLASLt, where it is there and cuBLAS too.
    pub fn blas_lt(&self) -> Option<&BlasLt> {
        self.blas_lt.get_or_init(|| self.blas().and_then(|_| BlasLt::of(self.gpu))).as_ref()
    }

    /// cuDNN, where it is there.
    pub fn dnn(&self) -> Option<&Dnn> {
        self.dnn.get_or_init(|| Dnn::of(self.gpu)).as_ref()
    }

    /// A kernel of what an operator computes, written for it.
    pub fn written(
        &self,
        op: &'static str,
        lowering: &Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Prepared> {
        self.prepared(op, self.program(op, lowering, inputs, outputs)?)
    }

    /// The launches of what an operator computes.
    pub fn program(
        &self,
        op: &'static str,
        lowering: &Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Program> {
        program_of(&self.target, op, lowering, inputs, outputs)
    }

    /// A program with its kernels loaded.
    pub fn prepared(&self, op: &'static str, program: Program) -> Result<Prepared> {
        let program = self.numbers.given(program);
        let functions = program.launches.iter().map(|launch| self.function(op, &launch.kernel));
        let functions = functions.collect::<Result<Vec<_>>>()?;
        Ok(Prepared::new(self.gpu, op, program, functions))
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
        let by_library = match &lowering {
            Lowering::Contract(form) => self.0.product(op, form, inputs, outputs[0]),
            Lowering::Windowed(Windowed::Convolution { geometry, part }) => {
                self.0.convolution(op, geometry, *part, inputs, outputs[0])
            }
            Lowering::Attention(form) => self.0.attention(op, *form, inputs, outputs),
            _ => None,
        };
        by_library.unwrap_or_else(|| Ok(Arc::new(self.0.written(op, &lowering, inputs, outputs)?)))
    }

    fn chain(&self, links: &[Link<'_>]) -> Result<Arc<dyn Kernel>> {
        Ok(Arc::new(self.0.prepared(links[0].op, program_of_chain(&self.0.target, links)?)?))
    }
}
