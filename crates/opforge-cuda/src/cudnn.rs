//! cuDNN: convolutions as fast as the device has them, by graphs, else by the functions of versions 8 and 9 that take a descriptor for each tensor. Without the
//! library kernels are our own.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use opforge_core::{DType, Error, Result};
use opforge_tile::forms::Part;

use crate::blas;
use crate::cudnn_graph::{self, Planned};
use crate::dense::Channels;
use crate::driver::{Address, Handle};
use crate::gpu::Gpu;
use crate::library::{Descriptor, Destroy, functions, open};

/// Finds algorithms: of a handle, two tensors that are given, how they meet, the one that is made.
type Choose = unsafe extern "C" fn(Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut Candidate) -> c_int;
/// The bytes that an algorithm works in.
type Size = unsafe extern "C" fn(Handle, Handle, Handle, Handle, Handle, c_int, *mut usize) -> c_int;

functions! {
    /// The library.
    Functions {
        create = "cudnnCreate" (*mut Handle);
        set_stream = "cudnnSetStream" (Handle, Handle);
        property = "cudnnGetProperty" (c_int, *mut c_int);
        tensor = "cudnnCreateTensorDescriptor" (*mut Handle);
        tensor_set = "cudnnSetTensorNdDescriptor" (Handle, c_int, c_int, *const c_int, *const c_int);
        tensor_destroy = "cudnnDestroyTensorDescriptor" (Handle);
        filter = "cudnnCreateFilterDescriptor" (*mut Handle);
        filter_set = "cudnnSetFilterNdDescriptor" (Handle, c_int, c_int, c_int, *const c_int);
        filter_destroy = "cudnnDestroyFilterDescriptor" (Handle);
        convolution = "cudnnCreateConvolutionDescriptor" (*mut Handle);
        convolution_set = "cudnnSetConvolutionNdDescriptor" (
            Handle, c_int, *const c_int, *const c_int, *const c_int, c_int, c_int
        );
        convolution_groups = "cudnnSetConvolutionGroupCount" (Handle, c_int);
        convolution_math = "cudnnSetConvolutionMathType" (Handle, c_int);
        convolution_destroy = "cudnnDestroyConvolutionDescriptor" (Handle);
        output_choose = "cudnnGetConvolutionForwardAlgorithm_v7" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut Candidate
        );
        output_size = "cudnnGetConvolutionForwardWorkspaceSize" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize
        );
        output = "cudnnConvolutionForward" (
            Handle, *const c_void, Handle, *const c_void, Handle, *const c_void, Handle, c_int, *mut c_void, usize,
            *const c_void, Handle, *mut c_void
        );
        input_choose = "cudnnGetConvolutionBackwardDataAlgorithm_v7" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut Candidate
        );
        input_size = "cudnnGetConvolutionBackwardDataWorkspaceSize" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize
        );
        input = "cudnnConvolutionBackwardData" (
            Handle, *const c_void, Handle, *const c_void, Handle, *const c_void, Handle, c_int, *mut c_void, usize,
            *const c_void, Handle, *mut c_void
        );
        weight_choose = "cudnnGetConvolutionBackwardFilterAlgorithm_v7" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut c_int, *mut Candidate
        );
        weight_size = "cudnnGetConvolutionBackwardFilterWorkspaceSize" (
            Handle, Handle, Handle, Handle, Handle, c_int, *mut usize
        );
        weight = "cudnnConvolutionBackwardFilter" (
            Handle, *const c_void, Handle, *const c_void, Handle, *const c_void, Handle, c_int, *mut c_void, usize,
            *const c_void, Handle, *mut c_void
        );
    }
}

/// An algorithm that the library proposes: `cudnnConvolutionFwdAlgoPerf_t`, and those of the other two, which are alike.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Candidate {
    algorithm: c_int,
    status: c_int,
    milliseconds: f32,
    nbytes: usize,
    is_deterministic: c_int,
    math: c_int,
    reserved: [c_int; 3],
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
/// How many algorithms are asked for: more than there are.
const CANDIDATES: usize = 16;
/// The most bytes that an algorithm may work in.
const MOST_BYTES: usize = 1 << 30;
/// `CUDNN_CROSS_CORRELATION`: filters are not mirrored.
const NOT_MIRRORED: c_int = 1;

/// Which units of the GPU multiply, by cuDNN's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Math {
    /// Those for matrices of f32 as TF32 too.
    Default = 0,
    /// Those for matrices of halves too.
    Matrices = 1,
    /// None that would round f32.
    Full = 3,
}

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

/// What is there of `x`, `w` and `y` in the order of the library's functions: two that are given, the one that is made.
fn in_order<T>(part: Part, [x, w, y]: [T; 3]) -> [T; 3] {
    match part {
        Part::Output => [x, w, y],
        Part::Input => [w, y, x],
        Part::Weight => [x, y, w],
    }
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

/// A convolution that the library was told of.
pub(crate) enum Plan {
    /// By a graph.
    Graph(Planned),
    /// By one of the algorithms that have numbers.
    Numbered(Numbered),
}

/// A convolution by descriptors of tensors, and the algorithm for it.
pub(crate) struct Numbered {
    part: Part,
    is_of_f64: bool,
    /// In the order of the library's functions.
    tensors: [Descriptor; 3],
    convolution: Descriptor,
    algorithm: c_int,
    /// The bytes that the algorithm works in.
    nbytes: usize,
}

impl Plan {
    /// The bytes that it works in.
    pub fn nbytes(&self) -> usize {
        match self {
            Plan::Graph(of) => of.nbytes,
            Plan::Numbered(of) => of.nbytes,
        }
    }
}

// SAFETY: descriptors are memory of the host's, and are not written once the plan is made.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

/// The library, with what it keeps of a GPU. One thread at a time uses that.
pub(crate) struct Dnn {
    functions: &'static Functions,
    /// The functions of graphs; none in a library without them.
    graphs: Option<&'static cudnn_graph::Functions>,
    handle: Mutex<Handle>,
}

// SAFETY: the library takes its handle from any thread, one at a time.
unsafe impl Send for Dnn {}
// SAFETY: as above.
unsafe impl Sync for Dnn {}

/// The library, if it is there and the environment variable `OPFORGE_CUDA_DNN` is not 0.
fn library() -> Option<&'static (Functions, Option<cudnn_graph::Functions>)> {
    static FUNCTIONS: OnceLock<Option<(Functions, Option<cudnn_graph::Functions>)>> = OnceLock::new();
    let find = || {
        if std::env::var("OPFORGE_CUDA_DNN").is_ok_and(|value| value == "0") {
            return None;
        }
        // cuDNN opens cuBLAS by its name, and finds it once it is open.
        blas::bring();
        let opened = |parts: &&[&str]| parts.iter().map(|part| open(&[part]).ok()).collect::<Option<Vec<_>>>();
        let library = VERSIONS.iter().find_map(opened)?.pop()?;
        Some((Functions::of(library).ok()?, cudnn_graph::Functions::find(library)))
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
        made.then_some(Dnn { functions, graphs: graphs.as_ref(), handle: Mutex::new(handle) })
    }

    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn descriptor(&self, create: unsafe extern "C" fn(*mut Handle) -> c_int, destroy: Destroy) -> Option<Descriptor> {
        // SAFETY: the library writes a handle, which this function of the same kind destroys.
        unsafe { Descriptor::new(|at| create(at), destroy) }
    }

    fn tensor(&self, kind: c_int, channels: Channels, dims: &[c_int]) -> Option<Descriptor> {
        let tensor = self.descriptor(self.functions.tensor, self.functions.tensor_destroy)?;
        let strides = channels.strides(dims)?;
        let (rank, set) = (dims.len() as c_int, self.functions.tensor_set);
        // SAFETY: there are as many lengths and strides as dimensions.
        (unsafe { set(tensor.at, kind, rank, dims.as_ptr(), strides.as_ptr()) } == 0).then_some(tensor)
    }

    fn filter(&self, kind: c_int, channels: Channels, dims: &[c_int]) -> Option<Descriptor> {
        let filter = self.descriptor(self.functions.filter, self.functions.filter_destroy)?;
        let (rank, set) = (dims.len() as c_int, self.functions.filter_set);
        // SAFETY: there are as many lengths as dimensions.
        (unsafe { set(filter.at, kind, channels as c_int, rank, dims.as_ptr()) } == 0).then_some(filter)
    }

    fn meeting(&self, of: &Problem, summed_in: c_int, math: Math) -> Option<Descriptor> {
        let found = self.descriptor(self.functions.convolution, self.functions.convolution_destroy)?;
        let (spatial, set) = (of.padding.len() as c_int, self.functions.convolution_set);
        let [padding, stride, dilation] = [&of.padding, &of.stride, &of.dilation].map(|all| all.as_ptr());
        // SAFETY: there are as many numbers of each as spatial dimensions.
        let is_set = unsafe {
            set(found.at, spatial, padding, stride, dilation, NOT_MIRRORED, summed_in) == 0
                && (self.functions.convolution_groups)(found.at, of.groups) == 0
                && (self.functions.convolution_math)(found.at, math as c_int) == 0
        };
        is_set.then_some(found)
    }

    fn finding(&self, part: Part) -> (Choose, Size) {
        let of = self.functions;
        match part {
            Part::Output => (of.output_choose, of.output_size),
            Part::Input => (of.input_choose, of.input_size),
            Part::Weight => (of.weight_choose, of.weight_size),
        }
    }

    /// Has the library prepare a convolution, f32 as TF32 where `reduced`; none where it has no algorithm that gives the same results at every run.
    pub fn plan(&self, gpu: &Gpu, op: &'static str, of: &Problem, reduced: bool) -> Option<Plan> {
        let (kind, summed_in) = numbers(of.dtype)?;
        let math = match of.dtype {
            DType::F16 | DType::BF16 => Math::Matrices,
            DType::F32 if !reduced => Math::Full,
            _ => Math::Default,
        };
        gpu.enter(op).ok()?;
        // Graphs take factors of f64 as such: those are left to the algorithms that have numbers.
        if let Some(graphs) = self.graphs.filter(|_| of.dtype != DType::F64)
            && let Some(plan) = graphs.plan(*self.handle(), of, (kind, summed_in), math != Math::Full)
        {
            return Some(Plan::Graph(plan));
        }
        let tensor = |dims: &[c_int]| self.tensor(kind, of.channels, dims);
        let tensors = [tensor(&of.x)?, self.filter(kind, of.channels, &of.w)?, tensor(&of.y)?];
        let (tensors, convolution) = (in_order(of.part, tensors), self.meeting(of, summed_in, math)?);
        let (algorithm, nbytes) = self.algorithm(of.part, &tensors, &convolution, math)?;
        let is_of_f64 = of.dtype == DType::F64;
        Some(Plan::Numbered(Numbered { part: of.part, is_of_f64, tensors, convolution, algorithm, nbytes }))
    }

    /// The first algorithm of those that the library proposes, the fastest first, that may be used, and the bytes that it works in.
    fn algorithm(
        &self,
        part: Part,
        tensors: &[Descriptor; 3],
        convolution: &Descriptor,
        math: Math,
    ) -> Option<(c_int, usize)> {
        let (choose, size) = self.finding(part);
        let [first, second, made] = tensors.each_ref().map(|tensor| tensor.at);
        let (mut candidates, mut count) = ([Candidate::default(); CANDIDATES], 0);
        let handle = self.handle();
        let most = CANDIDATES as c_int;
        // SAFETY: the library writes as many candidates at most, and their number.
        let code =
            unsafe { choose(*handle, first, second, convolution.at, made, most, &mut count, candidates.as_mut_ptr()) };
        let found = candidates.iter().take(if code == 0 { count.max(0) as usize } else { 0 });
        let usable =
            found.filter(|found| found.status == 0 && found.is_deterministic == 1 && found.nbytes <= MOST_BYTES);
        usable.into_iter().find_map(|found| {
            let mut nbytes = 0;
            // An algorithm is meant for certain units. Those that would round f32 are not taken where they are not allowed.
            let math = if math == Math::Full { math as c_int } else { found.math };
            // SAFETY: the descriptors are ours; the library writes a number.
            let is_taken = unsafe {
                (self.functions.convolution_math)(convolution.at, math) == 0
                    && size(*handle, first, second, convolution.at, made, found.algorithm, &mut nbytes) == 0
            };
            (is_taken && nbytes <= MOST_BYTES).then_some((found.algorithm, nbytes))
        })
    }

    /// Issues a convolution.
    ///
    /// # Safety
    /// The addresses are those of `x`, `w` and `y` as the plan's problem describes them, multiples of 16, and of so many bytes as the plan says.
    pub unsafe fn convolve(
        &self,
        (gpu, op): (&Gpu, &'static str),
        plan: &Plan,
        at: [Address; 3],
        workspace: Address,
    ) -> Result<()> {
        let pointer = |at: Address| ptr::without_provenance_mut::<c_void>(at as usize);
        let (at, workspace) = (at.map(pointer), pointer(workspace));
        gpu.enter(op)?;
        let handle = self.handle();
        // SAFETY: the addresses are those of the plan's tensors and memory, as the caller promises.
        let status = unsafe {
            match plan {
                Plan::Graph(of) => of.run(*handle, at, workspace),
                Plan::Numbered(of) => self.functions.run(*handle, of, at, workspace),
            }
        };
        match status {
            0 => Ok(()),
            status => {
                Err(Error::Kernel { op: op.into(), message: format!("{}: cuDNN gave status {status}", gpu.name) })
            }
        }
    }
}

impl Functions {
    /// Issues a convolution by an algorithm that has a number; the library's status.
    ///
    /// # Safety
    /// As [`Dnn::convolve`].
    unsafe fn run(&self, handle: Handle, of: &Numbered, at: [*mut c_void; 3], workspace: *mut c_void) -> c_int {
        let run = match of.part {
            Part::Output => self.output,
            Part::Input => self.input,
            Part::Weight => self.weight,
        };
        let [first, second, made] = in_order(of.part, at);
        let [of_first, of_second, of_made] = of.tensors.each_ref().map(|tensor| tensor.at);
        let (single, double) = ([1f32, 0.0], [1f64, 0.0]);
        let [one, zero]: [*const c_void; 2] = if of.is_of_f64 {
            [(&raw const double[0]).cast(), (&raw const double[1]).cast()]
        } else {
            [(&raw const single[0]).cast(), (&raw const single[1]).cast()]
        };
        let (by, algorithm, nbytes) = (of.convolution.at, of.algorithm, of.nbytes);
        // SAFETY: factors are on the host, where the library expects them; the rest is the caller's promise.
        unsafe {
            run(handle, one, of_first, first, of_second, second, by, algorithm, workspace, nbytes, zero, of_made, made)
        }
    }
}
