//! DLPack's exchange by functions of C, without capsules: how tvm-ffi and its like take tensors as arguments and give them back
//! (`DLPackExchangeAPI` of <https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h>, from version 1.3 on).

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use opforge::{Device, Result, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::abi::{DataType, Device as Place, DlTensor, ManagedVersioned, READ_ONLY, Version};
use super::export::{check, managed};
use super::import::{adopt, dtype_and_shape};
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// The first version with these functions.
const VERSION: Version = Version { major: 1, minor: 3 };

#[repr(C)]
struct Header {
    version: Version,
    /// The functions of an older version, if there are any.
    older: *mut Header,
}

type SetError = unsafe extern "C" fn(context: *mut c_void, kind: *const c_char, message: *const c_char);

#[repr(C)]
struct Functions {
    header: Header,
    allocate: unsafe extern "C" fn(*const DlTensor, *mut *mut ManagedVersioned, *mut c_void, SetError) -> c_int,
    give: unsafe extern "C" fn(*mut ffi::PyObject, *mut *mut ManagedVersioned) -> c_int,
    take: unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut ffi::PyObject) -> c_int,
    show: unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int,
    stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
}
// SAFETY: functions, and no pointers to anything else.
unsafe impl Sync for Functions {}

static FUNCTIONS: Functions =
    Functions { header: Header { version: VERSION, older: ptr::null_mut() }, allocate, give, take, show, stream };

/// Tells the functions to those who look for them at the class of tensors.
pub fn install(py: Python<'_>) -> PyResult<()> {
    let functions = (&raw const FUNCTIONS).cast_mut().cast::<c_void>();
    // SAFETY: a static with a static name.
    let capsule = unsafe {
        let capsule = ffi::PyCapsule_New(functions, c"dlpack_exchange_api".as_ptr(), None);
        Bound::from_owned_ptr_or_err(py, capsule)?
    };
    py.get_type::<PyTensor>().setattr("__dlpack_c_exchange_api__", capsule)
}

/// 0, or -1 with the interpreter's error set.
fn outcome(py: Python<'_>, result: PyResult<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            error.restore(py);
            -1
        }
    }
}

/// A new tensor like a description: its shape and dtype, contiguous.
unsafe extern "C" fn allocate(
    like: *const DlTensor,
    to: *mut *mut ManagedVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    let made = || -> Result<*mut ManagedVersioned> {
        // SAFETY: the caller's description is valid.
        let (dtype, shape) = unsafe { dtype_and_shape(&*like) }?;
        managed(&Tensor::zeros(shape, dtype, &Device::Cpu)?, 0)
    };
    match made() {
        // SAFETY: the caller's place for the result.
        Ok(made) => unsafe {
            to.write(made);
            0
        },
        Err(error) => {
            let message = CString::new(error.to_string()).unwrap_or_default();
            // SAFETY: the caller's function with its context; both texts end with 0.
            unsafe { set_error(context, c"RuntimeError".as_ptr(), message.as_ptr()) };
            -1
        }
    }
}

/// The tensor of an object that may be given to others.
///
/// # Safety
/// The interpreter is attached, and the object valid.
unsafe fn tensor_of(py: Python<'_>, object: *mut ffi::PyObject) -> PyResult<Tensor> {
    // SAFETY: the caller's promise.
    let object = unsafe { Bound::from_borrowed_ptr_or_err(py, object) }?;
    let tensor = object.cast::<PyTensor>().map_err(|_| PyTypeError::new_err("dlpack: not a tensor"))?.get().tensor(py);
    check(&tensor)?;
    Ok(tensor)
}

/// A structure with an object's tensor, which shares its memory and is the caller's.
unsafe extern "C" fn give(object: *mut ffi::PyObject, to: *mut *mut ManagedVersioned) -> c_int {
    // SAFETY: DLPack has these functions called with the interpreter attached, and valid addresses.
    unsafe {
        let py = Python::assume_attached();
        let made = tensor_of(py, object).and_then(|tensor| {
            let flags = if tensor.storage().is_read_only() { READ_ONLY } else { 0 };
            managed(&tensor, flags).or_raise(py)
        });
        outcome(py, made.map(|made| to.write(made)))
    }
}

/// A tensor over a structure's memory, which is the tensor's from now on.
unsafe extern "C" fn take(structure: *mut ManagedVersioned, to: *mut *mut ffi::PyObject) -> c_int {
    // SAFETY: as in `give`.
    unsafe {
        let py = Python::assume_attached();
        let structure = NonNull::new(structure).ok_or_else(|| PyBufferError::new_err("dlpack: no structure"));
        let taken = structure.and_then(|structure| adopt(py, structure, || Ok(())));
        outcome(py, taken.and_then(|tensor| PyTensor::wrap(py, tensor)).map(|object| to.write(object.into_ptr())))
    }
}

/// Describes an object's tensor, as long as the object is there and stays what it is.
unsafe extern "C" fn show(object: *mut ffi::PyObject, to: *mut DlTensor) -> c_int {
    // SAFETY: as in `give`. Lengths and strides are the tensor's own, which the object holds; they are far below 2^63.
    unsafe {
        let py = Python::assume_attached();
        let shown = tensor_of(py, object).and_then(|tensor| {
            let (device, data) = (check(&tensor)?, tensor.expose().or_raise(py)?.as_ptr());
            let offset = tensor.layout().start_offset() * tensor.dtype().size_in_bytes();
            to.write(DlTensor {
                data: data.wrapping_add(offset).cast(),
                device,
                ndim: tensor.rank() as i32,
                dtype: DataType::from(tensor.dtype()),
                shape: tensor.dims().as_ptr().cast_mut().cast(),
                strides: tensor.stride().as_ptr().cast_mut().cast(),
                byte_offset: 0,
            });
            Ok(())
        });
        outcome(py, shown)
    }
}

/// The CPU has no streams, and those of CUDA devices and the legacy default stream, which is none, wait for one another.
unsafe extern "C" fn stream(kind: i32, id: i32, to: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's place for the result; an error needs the interpreter, which is attached.
    unsafe {
        to.write(ptr::null_mut());
        if (Place { kind, id }).present().is_some() {
            return 0;
        }
        outcome(Python::assume_attached(), Err(PyBufferError::new_err(format!("dlpack: no streams of device {kind}"))))
    }
}
