//! cuDNN: convolutions and attention as fast as the device has them. Without the library, and for what it does not take, kernels are our own.

mod attention;
mod convolution;
mod graph;
mod operations;

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use opforge_core::{DType, Error, Result};
use opforge_tile::forms::Part;

use crate::blas;
use crate::dense::Channels;
use crate::driver::{Address, Handle};
use crate::gpu::Gpu;
use crate::library::{functions, open};

pub(crate) use graph::Planned;

pub(crate) use attention::{Attention, Problem as AttentionProblem};

functions! {
    /// The library.
    Functions {
        create = "cudnnCreate" (*mut Handle);
        set_stream = "cudnnSetStream" (Handle, Handle);
        property = "cudnnGetProperty" (c_int, *mut c_int);
    }
}

/// The libraries of a version. Each needs those before it; the last one has all functions, and ends the process where another is missing.
const VERSIONS: [&[&str]; 2] = [
    &["libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9", "libcudnn.so.9"],
    &[
        "libcudnn_ops_infer.so.8",
        "libcudnn_cnn_infer.so.8",
        "libcudnn_ops_train.so.8",
        "libcudnn_cnn_train.so.8",
        "libcudnn.so.8",
    ],
];

/// A convolution of tensors without gaps, whose lengths along all dimensions are those of `x [batch, groups c, X..]`, `w [groups o, c, K..]` and
/// `y [batch, groups o, Y..]`, with two or three spatial dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub dtype: DType,
    pub part: Part,
    pub channels: Channels,
    pub x: Vec<c_int>,
    pub w: Vec<c_int>,
    pub y: Vec<c_int>,
    pub padding: Vec<c_int>,
    pub stride: Vec<c_int>,
    pub dilation: Vec<c_int>,
    pub groups: c_int,
}

/// cuDNN's number of a dtype, and of that which is summed in.
pub(crate) fn numbers(dtype: DType) -> Option<(c_int, c_int)> {
    match dtype {
        DType::F32 => Some((0, 0)),
        DType::F64 => Some((1, 1)),
        DType::F16 => Some((2, 0)),
        DType::BF16 => Some((9, 0)),
        _ => None,
    }
}

/// The library, with what it keeps of a GPU. One thread at a time uses that.
pub(crate) struct Dnn {
    graphs: &'static graph::Functions,
    handle: Mutex<Handle>,
}

// SAFETY: the library takes its handle from any thread, one at a time.
unsafe impl Send for Dnn {}
// SAFETY: as above.
unsafe impl Sync for Dnn {}

/// The library, if it is there and the environment variable `OPFORGE_CUDA_DNN` is not 0.
fn library() -> Option<&'static (Functions, graph::Functions)> {
    static FUNCTIONS: OnceLock<Option<(Functions, graph::Functions)>> = OnceLock::new();
    let find = || {
        if std::env::var("OPFORGE_CUDA_DNN").is_ok_and(|value| value == "0") {
            return None;
        }
        // cuDNN opens cuBLAS by its name, and finds it once it is open.
        blas::bring();
        let opened = |parts: &&[&str]| parts.iter().map(|part| open(&[part]).ok()).collect::<Option<Vec<_>>>();
        let library = VERSIONS.iter().find_map(opened)?.pop()?;
        Some((Functions::of(library).ok()?, graph::Functions::of(library).ok()?))
    };
    FUNCTIONS.get_or_init(find).as_ref()
}

/// The major, minor and patch version of cuDNN, which computes convolutions; none where it is not found, or the environment variable `OPFORGE_CUDA_DNN` is 0.
pub fn cudnn_version() -> Option<[u32; 3]> {
    let (functions, _) = library()?;
    let mut version = [0; 3];
    for (which, number) in (0..).zip(&mut version) {
        // SAFETY: the library writes a number.
        (unsafe { (functions.property)(which, number) } == 0).then_some(())?;
    }
    Some(version.map(|number| number.max(0) as u32))
}

impl Dnn {
    /// The library for a GPU, on its stream, if it is there.
    pub fn of(gpu: &Gpu) -> Option<Dnn> {
        let ((functions, graphs), mut handle) = (library()?, ptr::null_mut());
        gpu.enter("convolution").ok()?;
        // SAFETY: the library writes a handle, for the context that is current; handle and stream are never destroyed.
        let made = unsafe { (functions.create)(&mut handle) == 0 && (functions.set_stream)(handle, gpu.stream) == 0 };
        made.then_some(Dnn { graphs, handle: Mutex::new(handle) })
    }

    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the library prepare a convolution, f32 as TF32 where `reduced`; none where it has no engine that gives the same results at every run.
    pub fn plan(&self, gpu: &Gpu, op: &'static str, of: &Problem, reduced: bool) -> Option<Planned> {
        gpu.enter(op).ok()?;
        let by_matrices = of.dtype != DType::F32 || reduced;
        convolution::plan(self.graphs, *self.handle(), of, numbers(of.dtype)?, by_matrices)
    }

    /// Issues a convolution.
    ///
    /// # Safety
    /// The addresses are those of `x`, `w` and `y` as the plan's problem describes them, multiples of 16, and of so many bytes as the plan says.
    pub unsafe fn convolve(
        &self,
        (gpu, op): (&Gpu, &'static str),
        plan: &Planned,
        at: [Address; 3],
        workspace: Address,
    ) -> Result<()> {
        gpu.enter(op)?;
        // SAFETY: the addresses are those of the plan's tensors and memory, as the caller promises.
        checked((gpu, op), unsafe { plan.run(*self.handle(), &at.map(pointer), pointer(workspace)) })
    }
}

/// An address as the library is given it.
fn pointer(at: Address) -> *mut c_void {
    ptr::without_provenance_mut(at as usize)
}

/// The error that a status tells, if it is one.
fn checked((gpu, op): (&Gpu, &'static str), status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        status => Err(Error::Kernel { op: op.into(), message: format!("{}: cuDNN gave status {status}", gpu.name) }),
    }
}
