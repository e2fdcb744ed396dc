//! C functions that the interpreter calls without packing arguments into tuples. Such a function gets no data of its own, so there is one for
//! every slot of a table: the slot's number is compiled into it.
//!
//! Custom operators alone are called with packed arguments, as their parameters are known at run time only.

use std::any::Any;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{Bound, ffi};

use super::Entry;
use super::bind::Arguments;

/// The most functions and the most methods that there can be.
const SLOTS: usize = 1024;

type Table = [OnceLock<&'static Entry>; SLOTS];

static FUNCTIONS: Table = [const { OnceLock::new() }; SLOTS];
static METHODS: Table = [const { OnceLock::new() }; SLOTS];

type Fast = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// The function or method of a slot. `receiver` is the module of a function.
unsafe extern "C" fn slot<const IS_METHOD: bool, const SLOT: usize>(
    receiver: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let (table, receiver) = if IS_METHOD { (&METHODS, Some(receiver)) } else { (&FUNCTIONS, None) };
    // SAFETY: called by the interpreter with a valid vector of arguments, and a method with a valid receiver.
    unsafe { enter(table, SLOT, receiver, args, count, names) }
}

seq_macro::seq!(N in 0..1024 {
    static FUNCTION_POINTERS: [Fast; SLOTS] = [#(slot::<false, N>,)*];
    static METHOD_POINTERS: [Fast; SLOTS] = [#(slot::<true, N>,)*];
});

/// The way from the interpreter to an entry. Panics become exceptions.
///
/// # Safety
/// The thread is attached to the interpreter; `args` holds `count` arguments by position and then one for each name in the tuple `names`
/// (null if there are none), all alive during the call.
unsafe fn enter(
    table: &'static Table,
    slot: usize,
    receiver: Option<*mut ffi::PyObject>,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        let call = || match table[slot].get() {
            // SAFETY: `args` holds `count` arguments and one for each of `names`, all alive until this returns; the thread is attached.
            Some(entry) => entry.call(py, &unsafe { Arguments::from_raw(py, receiver, args, count as usize, names) }),
            None => Err(PyRuntimeError::new_err("a function without an entry")),
        };
        let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|payload| Err(panicked(&*payload)));
        match result {
            Ok(object) => object.into_ptr(),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    })
}

#[cold]
fn panicked(payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    PyRuntimeError::new_err(format!("opforge has a bug: {text}"))
}

/// Puts an entry into the first free slot of a table; gives the slot's number.
fn occupy(table: &'static Table, entry: &'static Entry) -> PyResult<usize> {
    let free = (0..SLOTS).find(|&slot| table[slot].set(entry).is_ok());
    free.ok_or_else(|| PyRuntimeError::new_err("too many functions"))
}

/// The interpreter's description of a C function, which it never lets go of.
fn definition(name: &str, doc: &str, pointer: Fast) -> *mut ffi::PyMethodDef {
    let text = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default().into_raw().cast_const();
    Box::into_raw(Box::new(ffi::PyMethodDef {
        ml_name: text(name),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: pointer },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: text(doc),
    }))
}

/// A builtin function of a module.
pub fn new_function<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
    doc: &str,
    entry: &'static Entry,
) -> PyResult<Bound<'py, PyAny>> {
    let definition = definition(name, doc, FUNCTION_POINTERS[occupy(&FUNCTIONS, entry)?]);
    let module_name = module.name()?;
    // SAFETY: the definition lives forever, and the function pointer has the signature that the flags announce.
    unsafe {
        let object = ffi::PyCFunction_NewEx(definition, module.as_ptr(), module_name.as_ptr());
        Bound::from_owned_ptr_or_err(module.py(), object)
    }
}

/// A method descriptor of a class.
pub fn new_method<'py>(
    class: &Bound<'py, pyo3::types::PyType>,
    name: &str,
    doc: &str,
    entry: &'static Entry,
) -> PyResult<Bound<'py, PyAny>> {
    let definition = definition(name, doc, METHOD_POINTERS[occupy(&METHODS, entry)?]);
    // SAFETY: the definition lives forever, and the function pointer has the signature that the flags announce; the interpreter checks that receivers are
    // instances.
    unsafe {
        let object = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(class.py(), object)
    }
}
