//! cuBLAS: products of matrices as fast as the device has them. Without the library kernels are our own.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;
use opforge_core::{DType, Error, Result};

use crate::driver::{Address, Handle};
use crate::gpu::Gpu;
use crate::library::{functions, open};
use crate::precision::PRODUCTS;

functions! {
    /// The library.
    Functions {
        create = "cublasCreate_v2" (*mut Handle);
        set_stream = "cublasSetStream_v2" (Handle, Handle);
        gemm = "cublasGemmStridedBatchedEx" (
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, *const c_void, c_int, c_int, i64, *const c_void, c_int,
            c_int, i64, *const c_void, *mut c_void, c_int, c_int, i64, c_int, c_int, c_int
        );
    }
}

/// A matrix of a batch, as cuBLAS has it: columns one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matrix {
    pub transposed: bool,
    /// From one column to the next, in elements.
    pub lead: c_int,
    /// From one matrix of the batch to the next, in elements.
    pub next: i64,
}

/// `y = a b`, or `y += a b`, for each matrix of a batch: `a` has `rows` and `depth`, `y` has `rows` and `columns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub dtype: DType,
    /// Of `y`: that of the others, or f32 where they are halves.
    pub result: DType,
    pub rows: c_int,
    pub columns: c_int,
    pub depth: c_int,
    pub count: c_int,
    pub a: Matrix,
    pub b: Matrix,
    pub y: Matrix,
    pub adds: bool,
}

/// cuBLAS' number of a dtype, and of that which is summed in; products of f32 are computed as TF32 where `reduced`.
pub(crate) fn numbers(dtype: DType, reduced: bool) -> Option<(c_int, c_int)> {
    const SUMMED_IN_F32: c_int = 68;
    const SUMMED_IN_F64: c_int = 70;
    const SUMMED_IN_F32_OF_TF32: c_int = 77;
    match dtype {
        DType::F32 if reduced => Some((0, SUMMED_IN_F32_OF_TF32)),
        DType::F32 => Some((0, SUMMED_IN_F32)),
        DType::F64 => Some((1, SUMMED_IN_F64)),
        DType::F16 => Some((2, SUMMED_IN_F32)),
        DType::BF16 => Some((14, SUMMED_IN_F32)),
        _ => None,
    }
}

/// The library, with what it keeps of a GPU. One thread at a time uses that.
pub(crate) struct Blas {
    functions: &'static Functions,
    handle: Mutex<Handle>,
}

// SAFETY: the library takes its handle from any thread, one at a time.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

/// One of NVIDIA's libraries of products, if it is there.
fn named(stem: &str) -> Option<&'static Library> {
    let names = [13, 12, 11].map(|version| format!("lib{stem}.so.{version}"));
    open(&names.each_ref().map(String::as_str)).ok()
}

/// cuBLASLt, which cuBLAS and cuDNN need: the system finds it by its name once it is open.
pub(crate) fn light() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    *LIBRARY.get_or_init(|| named("cublasLt"))
}

/// The library, if it is there.
fn library() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let find = || {
        light();
        Functions::of(named("cublas")?).ok()
    };
    FUNCTIONS.get_or_init(find).as_ref()
}

/// Opens the library, so that others find it.
pub(crate) fn bring() {
    let _ = library();
}

impl Blas {
    /// The library for a GPU, on its stream; none where it is not there, or the environment variable `OPFORGE_CUDA_BLAS` is 0.
    pub fn of(gpu: &Gpu) -> Option<Blas> {
        if std::env::var("OPFORGE_CUDA_BLAS").is_ok_and(|value| value == "0") {
            return None;
        }
        let (functions, mut handle) = (library()?, ptr::null_mut());
        gpu.enter("matmul").ok()?;
        // SAFETY: the library writes a handle, for the context that is current; handle and stream are never destroyed.
        let made = unsafe { (functions.create)(&mut handle) == 0 && (functions.set_stream)(handle, gpu.stream) == 0 };
        made.then_some(Blas { functions, handle: Mutex::new(handle) })
    }

    /// Issues a product.
    ///
    /// # Safety
    /// The addresses are those of tensors that the problem describes.
    pub unsafe fn multiply(&self, gpu: &Gpu, op: &'static str, of: &Problem, at: [Address; 3]) -> Result<()> {
        let lacks = || Error::msg("a dtype that cuBLAS does not have");
        let tf32 = PRODUCTS.get() && of.dtype == DType::F32;
        let kind = numbers(of.dtype, tf32).ok_or_else(lacks)?.0;
        let (result, summed_in) = numbers(of.result, tf32).ok_or_else(lacks)?;
        let (single, double) = ([1f32, f32::from(of.adds)], [1f64, f64::from(of.adds)]);
        let factors: [*const c_void; 2] = match of.dtype {
            DType::F64 => [(&raw const double[0]).cast(), (&raw const double[1]).cast()],
            _ => [(&raw const single[0]).cast(), (&raw const single[1]).cast()],
        };
        let [a, b, y] = at.map(|at| ptr::without_provenance_mut::<c_void>(at as usize));
        let (left, right) = (of.b, of.a);
        gpu.enter(op)?;
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // Rows one after the other are columns of the transposed: what is computed is y^T = b^T a^T.
        // SAFETY: factors are on the host, where the library expects them at first; the rest is the caller's promise.
        let status = unsafe {
            (self.functions.gemm)(
                *handle,
                left.transposed.into(),
                right.transposed.into(),
                of.columns,
                of.rows,
                of.depth,
                factors[0],
                b,
                kind,
                left.lead,
                left.next,
                a,
                kind,
                right.lead,
                right.next,
                factors[1],
                y,
                result,
                of.y.lead,
                of.y.next,
                of.count,
                summed_in,
                -1,
            )
        };
        match status {
            0 => Ok(()),
            status => {
                Err(Error::Kernel { op: op.into(), message: format!("{}: cuBLAS gave status {status}", gpu.name) })
            }
        }
    }
}
