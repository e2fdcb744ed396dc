//! Tensors' shapes as Python sees them: `Size`, a tuple. The package defines the class; what programs do most often is done here, natively: making one
//! of lengths, and taking an item.

use std::mem::transmute;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use pyo3::{Bound, ffi};

/// The class of shapes.
static SIZE: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Makes the class of shapes known: a subclass of [`base`].
#[pyfunction]
pub fn set_size_class(py: Python<'_>, class: Py<PyType>) {
    let _ = SIZE.set(py, class);
}

/// The shape of these lengths.
pub fn size<'py>(py: Python<'py>, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let Some(class) = SIZE.get(py) else { return Ok(PyTuple::new(py, dims)?.into_any()) };
    let length = |i: usize| dims[i].into_pyobject(py).map(|length| length.into_any()).map_err(PyErr::from);
    filled(class.bind(py), dims.len(), length)
}

/// Whether an object is a shape.
pub fn is_size(object: &Bound<'_, PyAny>) -> bool {
    SIZE.get(object.py()).is_some_and(|class| object.is_instance(class.bind(object.py())).unwrap_or(false))
}

/// A new tuple of a subclass, of `len` items: `tuple.__new__` would copy another tuple.
fn filled<'py>(
    class: &Bound<'py, PyType>,
    len: usize,
    item: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the class is a subclass of tuple, whose memory is `len` items, null at first; the result is ours, or null with an error set.
    let tuple = unsafe {
        let memory = ffi::PyType_GenericAlloc(class.as_type_ptr(), len as ffi::Py_ssize_t);
        Bound::from_owned_ptr_or_err(class.py(), memory)?
    };
    for i in 0..len {
        // SAFETY: nobody else holds the tuple yet, of which this is an item; the reference to the item is given away.
        unsafe { ffi::PyTuple_SetItem(tuple.as_ptr(), i as ffi::Py_ssize_t, item(i)?.into_ptr()) };
    }
    Ok(tuple)
}

/// `tuple`'s own way to an item, or to a tuple of some.
fn of_tuple() -> ffi::binaryfunc {
    static SLOT: OnceLock<ffi::binaryfunc> = OnceLock::new();
    // SAFETY: this slot of a type holds a function of this type, and tuples can be subscripted.
    *SLOT.get_or_init(|| unsafe {
        transmute::<*mut std::ffi::c_void, ffi::binaryfunc>(ffi::PyType_GetSlot(
            &raw mut ffi::PyTuple_Type,
            ffi::Py_mp_subscript,
        ))
    })
}

/// `shape[key]`: a length, or a shape for a slice.
///
/// # Safety
/// Called by the interpreter, with a shape and any object.
unsafe extern "C" fn subscript(shape: *mut ffi::PyObject, key: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this attached, with objects that are alive; what a tuple gives for a slice is a tuple, and ours.
    unsafe {
        let item = of_tuple()(shape, key);
        if item.is_null() || ffi::Py_TYPE(key) != &raw mut ffi::PySlice_Type {
            return item;
        }
        let part = Bound::from_owned_ptr(Python::assume_attached(), item);
        let part = part.cast_into_unchecked::<PyTuple>();
        let Some(class) = SIZE.get(part.py()) else { return part.into_ptr() };
        match filled(class.bind(part.py()), part.len(), |i| part.get_item(i)) {
            Ok(shape) => shape.into_ptr(),
            Err(error) => {
                error.restore(part.py());
                std::ptr::null_mut()
            }
        }
    }
}

/// What the class of shapes derives from: a tuple whose slices are shapes.
pub fn base(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_mp_subscript, pfunc: subscript as *mut std::ffi::c_void },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"opforge._core._Shape".as_ptr(),
        // As in a tuple.
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [py.get_type::<PyTuple>()])?;
    // SAFETY: the description is whole, and copied; its function is of its slot's type. The result is ours, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr())) }
}
