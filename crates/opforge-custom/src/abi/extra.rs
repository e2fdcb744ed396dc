//! The bridge's object of attributes and workspaces, and calls of a library's functions with it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use opforge_core::DType;
use smallvec::SmallVec;

use super::bridge::{
    self, Address, opforge_call_infer, opforge_call_infer_shape, opforge_call_infer_type, opforge_call_init,
    opforge_call_main,
};
use super::dtype::{dtype_of, dtype_of_type_id, type_id};
use super::outcome::RawOutcome;
use super::{Arrays, Outcome, TYPE_CAPACITY};
use crate::attribute::Attributes;

/// Which class a library's functions take as `extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Variant {
    /// The class that passes texts as vectors of characters.
    pub dual: bool,
    /// The older ABI of `std::string`.
    pub old_strings: bool,
}

/// An output as a library infers it: what it does not state is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inferred {
    /// The dtype, or a name or number that no dtype has.
    pub dtype: Option<Result<DType, String>>,
    /// The shape; -1 is an unknown length, a single -2 an unknown rank.
    pub shape: Option<Vec<i64>>,
}

impl Inferred {
    /// An output of which a name is stated, and lengths.
    pub fn new(dtype: Option<&[u8]>, shape: Option<Vec<i64>>) -> Self {
        let unknown = |name: &[u8]| format!("dtype {:?}", String::from_utf8_lossy(name));
        Inferred { dtype: dtype.map(|name| dtype_of(name).ok_or_else(|| unknown(name))), shape }
    }

    /// An output of which a number of MindSpore's enumeration is stated.
    pub fn from_type(id: i32) -> Self {
        Inferred { dtype: Some(dtype_of_type_id(id).ok_or_else(|| format!("type number {id}"))), shape: None }
    }
}

/// The object that kernels get as `extra`: attributes, workspaces, kernel data. Not for two threads at once.
pub(crate) struct Extra {
    object: NonNull<c_void>,
    /// What the object reads.
    _attributes: Arc<Attributes>,
}

// SAFETY: the object is used by one thread at a time, any thread; so the contract with kernels says.
unsafe impl Send for Extra {}

impl Extra {
    /// A new object; `None` if memory is exhausted.
    pub fn new(variant: Variant, attributes: &Arc<Attributes>) -> Option<Self> {
        let raw = attributes.raw();
        // SAFETY: the attributes are kept alive and in place by the `Arc`.
        let object = unsafe {
            match variant.old_strings {
                #[cfg(two_string_abis)]
                true => bridge::opforge_extra_new_old(variant.dual.into(), raw.as_ptr(), raw.len()),
                _ => bridge::opforge_extra_new(variant.dual.into(), raw.as_ptr(), raw.len()),
            }
        };
        Some(Extra { object: NonNull::new(object)?, _attributes: attributes.clone() })
    }

    /// States how many inputs and, if that is known, outputs the coming calls have.
    pub fn set_counts(&mut self, inputs: usize, outputs: Option<usize>) {
        let outputs = outputs.map_or(-1, |count| count as c_int);
        // SAFETY: the object lives.
        unsafe { bridge::opforge_extra_set_counts(self.object.as_ptr(), inputs as c_int, outputs) };
    }

    /// The workspaces that the library asked for, in bytes.
    pub fn workspaces(&self) -> Vec<usize> {
        let mut sizes = ptr::null();
        // SAFETY: the object lives; the sizes are copied before anything else happens to it.
        unsafe {
            match bridge::opforge_extra_workspaces(self.object.as_ptr(), &mut sizes) {
                0 => Vec::new(),
                count => std::slice::from_raw_parts(sizes, count).to_vec(),
            }
        }
    }

    /// Calls a main function.
    ///
    /// # Safety
    /// `function` and `last_error` (or null) are of an open library and have those types. `params` point to memory as the contract with kernels
    /// says, for the arguments that `arrays` describes.
    #[inline]
    pub unsafe fn call_main(
        &mut self,
        function: Address,
        last_error: Address,
        params: &mut [*mut c_void],
        arrays: &mut Arrays,
        stream: *mut c_void,
    ) -> Outcome {
        let (count, params, extra) = (params.len() as c_int, params.as_mut_ptr(), self.object.as_ptr());
        let (ndims, shapes, dtypes) = arrays.parts();
        // SAFETY: function, parameters and arrays are those of one signature; the bridge throws nothing and writes the outcome.
        unsafe {
            RawOutcome::of(|out| {
                opforge_call_main(function, last_error, count, params, ndims, shapes, dtypes, stream, extra, out)
            })
        }
    }

    /// Calls an initialisation function.
    ///
    /// # Safety
    /// `function` and `last_error` (or null) are of an open library and have those types.
    pub unsafe fn call_init(&mut self, function: Address, last_error: Address, arrays: &mut Arrays) -> Outcome {
        let ((ndims, shapes, dtypes), extra) = (arrays.parts(), self.object.as_ptr());
        // SAFETY: the functions are an open library's, of these types; the bridge throws nothing and writes the outcome.
        unsafe { RawOutcome::of(|out| opforge_call_init(function, last_error, ndims, shapes, dtypes, extra, out)) }
    }

    /// Calls an inference function of C's form.
    ///
    /// # Safety
    /// As for [`Extra::call_init`].
    pub unsafe fn call_infer(
        &mut self,
        function: Address,
        last_error: Address,
        arrays: &mut Arrays,
    ) -> (Outcome, Vec<Inferred>) {
        let (count, extra) = (arrays.len() as c_int, self.object.as_ptr());
        let (ndims, shapes, dtypes) = arrays.parts();
        // SAFETY: an open library's functions of these types; the bridge throws nothing, writes the outcome, and gives `receive` its vector.
        unsafe {
            received(|to, out| {
                opforge_call_infer(function, last_error, count, ndims, shapes, dtypes, extra, receive, to, out)
            })
        }
    }

    /// Calls a shape function of C++'s form, which returns one shape or `several`.
    ///
    /// # Safety
    /// As for [`Extra::call_init`].
    pub unsafe fn call_infer_shape(
        &mut self,
        function: Address,
        several: bool,
        arrays: &mut Arrays,
    ) -> (Outcome, Vec<Inferred>) {
        let ((ndims, shapes, _), extra) = (arrays.parts(), self.object.as_ptr());
        // SAFETY: an open library's function of this type; the bridge throws nothing, writes the outcome, and gives `receive` its vector.
        unsafe {
            received(|to, out| opforge_call_infer_shape(function, several, ndims, shapes, extra, receive, to, out))
        }
    }

    /// Calls a type function of C++'s form, which returns one type or `several`.
    ///
    /// # Safety
    /// As for [`Extra::call_init`].
    pub unsafe fn call_infer_type(
        &mut self,
        function: Address,
        several: bool,
        inputs: &[DType],
    ) -> (Outcome, Vec<Inferred>) {
        let inputs: SmallVec<[i32; 8]> = inputs.iter().map(|&dtype| type_id(dtype)).collect();
        let (inputs, given) = (inputs.as_ptr(), inputs.len());
        let (mut types, mut count) = ([0; TYPE_CAPACITY], 0);
        let (found, capacity, extra) = (types.as_mut_ptr(), types.len(), self.object.as_ptr());
        // SAFETY: an open library's function of this type; the bridge throws nothing, writes the outcome, and no more than `capacity` types.
        let outcome = unsafe {
            RawOutcome::of(|out| {
                count = opforge_call_infer_type(function, several, inputs, given, extra, found, capacity, out);
            })
        };
        (outcome, types.iter().take(count).map(|&id| Inferred::from_type(id)).collect())
    }
}

impl Drop for Extra {
    fn drop(&mut self) {
        // SAFETY: the object is deleted once, and its library is still open: whoever owns an `Extra` drops it before the library.
        unsafe { bridge::opforge_extra_delete(self.object.as_ptr()) };
    }
}

/// Calls the bridge with a `Vec<Inferred>`, which [`receive`] fills.
///
/// # Safety
/// As for [`RawOutcome::of`]; the vector goes to `receive` alone.
unsafe fn received(call: impl FnOnce(*mut c_void, *mut RawOutcome)) -> (Outcome, Vec<Inferred>) {
    let mut found: Vec<Inferred> = Vec::new();
    let to = (&raw mut found).cast();
    // SAFETY: `call` passes the outcome to the bridge, as the caller promises.
    let outcome = unsafe { RawOutcome::of(|out| call(to, out)) };
    (outcome, found)
}

/// Takes an inferred output into the `Vec<Inferred>` at `context`.
///
/// # Safety
/// `context` is that vector, borrowed by nobody else; `dtype` is null or a text; `shape` is null or has `ndim` lengths.
unsafe extern "C" fn receive(context: *mut c_void, dtype: *const c_char, ndim: c_int, shape: *const i64) {
    // SAFETY: `context` is the vector of this call alone; the text ends with a zero, and the shape has `ndim` lengths.
    unsafe {
        let found = &mut *context.cast::<Vec<Inferred>>();
        let dtype = (!dtype.is_null()).then(|| CStr::from_ptr(dtype).to_bytes());
        let shape = match usize::try_from(ndim) {
            Ok(0) => Some(Vec::new()),
            Ok(ndim) if !shape.is_null() => Some(std::slice::from_raw_parts(shape, ndim).to_vec()),
            _ => None,
        };
        found.push(Inferred::new(dtype, shape));
    }
}
