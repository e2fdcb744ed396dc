//! cuBLASLt: products of matrices that end with a bias, so that the output is written once. Without the library the bias is written first.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use opforge_core::{DType, Error, Result};

use crate::blas::{self, Matrix, Problem};
use crate::driver::{Address, Handle};
use crate::gpu::Gpu;
use crate::library::{Descriptor, functions};

functions! {
    /// The library.
    Functions {
        create = "cublasLtCreate" (*mut Handle);
        operation = "cublasLtMatmulDescCreate" (*mut Handle, c_int, c_int);
        operation_set = "cublasLtMatmulDescSetAttribute" (Handle, c_int, *const c_void, usize);
        operation_destroy = "cublasLtMatmulDescDestroy" (Handle);
        layout = "cublasLtMatrixLayoutCreate" (*mut Handle, c_int, u64, u64, i64);
        layout_destroy = "cublasLtMatrixLayoutDestroy" (Handle);
        preference = "cublasLtMatmulPreferenceCreate" (*mut Handle);
        preference_set = "cublasLtMatmulPreferenceSetAttribute" (Handle, c_int, *const c_void, usize);
        preference_destroy = "cublasLtMatmulPreferenceDestroy" (Handle);
        choose = "cublasLtMatmulAlgoGetHeuristic" (
            Handle, Handle, Handle, Handle, Handle, Handle, Handle, c_int, *mut Candidate, *mut c_int
        );
        matmul = "cublasLtMatmul" (
            Handle, Handle, *const c_void, *const c_void, Handle, *const c_void, Handle, *const c_void, *const c_void,
            Handle, *mut c_void, Handle, *const [u64; 8], *mut c_void, usize, Handle
        );
    }
}

/// An algorithm that the library proposes: `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Candidate {
    algorithm: [u64; 8],
    nbytes: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// Attributes of a product, by the library's numbers.
#[derive(Debug, Clone, Copy)]
enum Operation {
    LeftTransposed = 3,
    RightTransposed = 4,
    Epilogue = 7,
    Bias = 8,
}

/// What algorithms are chosen by, by the library's numbers.
#[derive(Debug, Clone, Copy)]
enum Preference {
    MostBytes = 1,
    LeftAlignment = 5,
    RightAlignment = 6,
    AddedAlignment = 7,
    MadeAlignment = 8,
}

/// `CUBLASLT_EPILOGUE_BIAS`: a number for each of the library's rows, which are our columns, is added.
const ENDS_WITH_BIAS: u32 = 4;
/// The most bytes that an algorithm may work in.
const MOST_BYTES: u64 = 32 << 20;
/// Addresses that algorithms are chosen for, in bytes.
pub(crate) const ALIGNMENT: Address = 16;

/// A product that the library was told of, and the algorithm for it.
pub(crate) struct Plan {
    dtype: DType,
    /// Holds the bias' address, which each call sets.
    operation: Mutex<Descriptor>,
    /// Of the library's left and right factor and of what is made.
    layouts: [Descriptor; 3],
    algorithm: [u64; 8],
    /// The bytes that the algorithm works in.
    pub nbytes: usize,
}

// SAFETY: descriptors are memory of the host's; the one that is written is locked.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

/// The library, with what it keeps of a GPU.
pub(crate) struct BlasLt {
    functions: &'static Functions,
    handle: Handle,
}

// SAFETY: the library takes its handle from any thread.
unsafe impl Send for BlasLt {}
// SAFETY: and from several at a time.
unsafe impl Sync for BlasLt {}

/// The library, if it is there.
fn library() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| Functions::of(blas::light()?).ok()).as_ref()
}

impl BlasLt {
    /// The library for a GPU, if it is there.
    pub fn of(gpu: &Gpu) -> Option<BlasLt> {
        let (functions, mut handle) = (library()?, ptr::null_mut());
        gpu.enter("matmul").ok()?;
        // SAFETY: the library writes a handle, for the context that is current; it is never destroyed.
        (unsafe { (functions.create)(&mut handle) } == 0).then_some(BlasLt { functions, handle })
    }

    /// A matrix as it is stored, of which `rows` and `columns` are multiplied.
    fn layout(&self, kind: c_int, [rows, columns]: [c_int; 2], of: Matrix) -> Option<Descriptor> {
        let [rows, columns] = if of.transposed { [columns, rows] } else { [rows, columns] }.map(|n| n as u64);
        let create = |at| {
            // SAFETY: the library writes a handle.
            unsafe { (self.functions.layout)(at, kind, rows, columns, of.lead.into()) }
        };
        // SAFETY: the function writes a handle of what this one destroys.
        unsafe { Descriptor::new(create, self.functions.layout_destroy) }
    }

    fn set<T>(&self, operation: &Descriptor, which: Operation, value: &T) -> bool {
        let set = self.functions.operation_set;
        // SAFETY: the value is of so many bytes, which the library checks.
        unsafe { set(operation.at, which as c_int, ptr::from_ref(value).cast(), size_of::<T>()) == 0 }
    }

    fn operation(&self, kind: c_int, summed_in: c_int, of: &Problem) -> Option<Descriptor> {
        let create = |at| {
            // SAFETY: the library writes a handle. Factors are of the dtype that is summed in.
            unsafe { (self.functions.operation)(at, summed_in, if of.dtype == DType::F64 { kind } else { 0 }) }
        };
        // SAFETY: the function writes a handle of what this one destroys.
        let operation = unsafe { Descriptor::new(create, self.functions.operation_destroy)? };
        let is_set = self.set(&operation, Operation::LeftTransposed, &c_int::from(of.b.transposed))
            && self.set(&operation, Operation::RightTransposed, &c_int::from(of.a.transposed))
            && self.set(&operation, Operation::Epilogue, &ENDS_WITH_BIAS)
            // Nothing is read there yet: it says how biases are aligned.
            && self.set(&operation, Operation::Bias, &ALIGNMENT);
        is_set.then_some(operation)
    }

    fn preference(&self) -> Option<Descriptor> {
        let create = |at| {
            // SAFETY: the library writes a handle.
            unsafe { (self.functions.preference)(at) }
        };
        // SAFETY: the function writes a handle of what this one destroys.
        let preference = unsafe { Descriptor::new(create, self.functions.preference_destroy)? };
        let set = |which: Preference, value: *const c_void, nbytes| {
            // SAFETY: the value is of so many bytes, which the library checks.
            unsafe { (self.functions.preference_set)(preference.at, which as c_int, value, nbytes) == 0 }
        };
        use Preference::{AddedAlignment, LeftAlignment, MadeAlignment, MostBytes, RightAlignment};
        let (most, alignment) = (MOST_BYTES, ALIGNMENT as u32);
        let is_set = set(MostBytes, (&raw const most).cast(), size_of_val(&most))
            && [LeftAlignment, RightAlignment, AddedAlignment, MadeAlignment]
                .into_iter()
                .all(|which| set(which, (&raw const alignment).cast(), size_of_val(&alignment)));
        is_set.then_some(preference)
    }

    /// Has the library prepare a product of one matrix by one that ends with a bias, f32 as TF32 where `reduced`; none where it has no algorithm.
    pub fn plan(&self, gpu: &Gpu, op: &'static str, of: &Problem, reduced: bool) -> Option<Plan> {
        let (kind, summed_in) = blas::numbers(of.dtype, reduced)?;
        if of.count != 1 {
            return None;
        }
        gpu.enter(op).ok()?;
        let operation = self.operation(kind, summed_in, of)?;
        // As in `Blas::multiply`, what is computed is y^T = b^T a^T.
        let layouts = [
            self.layout(kind, [of.columns, of.depth], of.b)?,
            self.layout(kind, [of.depth, of.rows], of.a)?,
            self.layout(kind, [of.columns, of.rows], of.y)?,
        ];
        let [left, right, made] = layouts.each_ref().map(|layout| layout.at);
        let (preference, mut found, mut count) = (self.preference()?, Candidate::default(), 0);
        let (handle, choose) = (self.handle, self.functions.choose);
        // SAFETY: the descriptors are the library's own; it writes one candidate at most, and their number.
        let code =
            unsafe { choose(handle, operation.at, left, right, made, made, preference.at, 1, &mut found, &mut count) };
        (code == 0 && count == 1 && found.status == 0).then(|| Plan {
            dtype: of.dtype,
            operation: Mutex::new(operation),
            layouts,
            algorithm: found.algorithm,
            nbytes: found.nbytes,
        })
    }

    /// Issues a product.
    ///
    /// # Safety
    /// The addresses are those of `a`, `b`, the bias and `y` as the plan's problem describes them, multiples of [`ALIGNMENT`], and of so many bytes as the
    /// plan says.
    pub unsafe fn multiply(
        &self,
        (gpu, op): (&Gpu, &'static str),
        plan: &Plan,
        [a, b, bias, y]: [Address; 4],
        workspace: Address,
    ) -> Result<()> {
        let [a, b, y, workspace] = [a, b, y, workspace].map(|at| ptr::without_provenance_mut::<c_void>(at as usize));
        let [left, right, made] = plan.layouts.each_ref().map(|layout| layout.at);
        let (single, double) = ([1f32, 0.0], [1f64, 0.0]);
        let [one, zero]: [*const c_void; 2] = match plan.dtype {
            DType::F64 => [(&raw const double[0]).cast(), (&raw const double[1]).cast()],
            _ => [(&raw const single[0]).cast(), (&raw const single[1]).cast()],
        };
        gpu.enter(op)?;
        let operation = plan.operation.lock().unwrap_or_else(PoisonError::into_inner);
        let is_set = self.set(&operation, Operation::Bias, &bias);
        let (matmul, nbytes, algorithm) = (self.functions.matmul, plan.nbytes, &raw const plan.algorithm);
        // SAFETY: factors are on the host, where the library expects them at first; the rest is the caller's promise.
        let status = unsafe {
            matmul(
                self.handle,
                operation.at,
                one,
                b,
                left,
                a,
                right,
                zero,
                y,
                made,
                y,
                made,
                algorithm,
                workspace,
                nbytes,
                gpu.stream,
            )
        };
        match status {
            0 if is_set => Ok(()),
            status => {
                Err(Error::Kernel { op: op.into(), message: format!("{}: cuBLASLt gave status {status}", gpu.name) })
            }
        }
    }
}
