//! Python's operators, each the method of that name.
#![allow(unsafe_op_in_unsafe_fn)] // what `#[pymethods]` makes of methods that a macro writes

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyNotImplemented};

use super::{PyTensor, numpy};
use crate::binding::{Arguments, Entry, Form, entry, intercept};

/// `function(left, right)`; NotImplemented if it does not take these, so that Python asks the other operand. `reflected` is the method's name if the
/// tensor is on the right.
#[inline]
fn apply<'py>(
    entry: &'static Entry,
    reflected: Option<&str>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = left.py();
    let (receiver, operand) = if reflected.is_some() { (right, left) } else { (left, right) };
    if let Some(result) =
        Arguments::pair(receiver, operand, |args| intercept::call(py, || seen(py, entry, reflected), args))
    {
        return result;
    }
    Arguments::pair(left, right, |args| entry.try_call(py, args)).unwrap_or_else(|| {
        let function = || seen(py, entry, reflected);
        if let Some(result) = Arguments::pair(receiver, operand, |args| intercept::call_by_class(py, function, args)) {
            return result;
        }
        refuse_large(operand)?;
        with_array(entry, left, right)?.unwrap_or_else(|| Ok(PyNotImplemented::get(py).to_owned().into_any().unbind()))
    })
}

/// Refuses an int that no element can be: Python would compare identities where nobody takes it.
#[cold]
fn refuse_large(operand: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_large = |int: &Bound<'_, PyInt>| int.extract::<i64>().is_err() && int.extract::<u64>().is_err();
    match operand.cast::<PyInt>() {
        Ok(int) if is_large(int) => Err(PyOverflowError::new_err("an int of more than 64 bits beside a tensor")),
        _ => Ok(()),
    }
}

const COMMUTATIVE: [&str; 5] = ["add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"];

/// The method that those see who want to see calls.
#[cold]
fn seen<'py>(py: Python<'py>, entry: &'static Entry, reflected: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    match reflected {
        Some(name) if !COMMUTATIVE.contains(&entry.name) => py.get_type::<PyTensor>().getattr(name),
        _ => entry.object(py),
    }
}

/// As [`apply`] with an operand that is a numpy array, taken as a tensor; `None` if there is none or the function does not take it.
#[cold]
fn with_array<'py>(
    entry: &'static Entry,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Option<PyResult<Py<PyAny>>>> {
    let py = left.py();
    let (left_is_array, right_is_array) = (numpy::is_ndarray(left)?, numpy::is_ndarray(right)?);
    if !left_is_array && !right_is_array {
        return Ok(None);
    }
    let tensor = |object: &Bound<'py, PyAny>, is_array: bool| {
        if is_array { numpy::from_numpy(object).map(|tensor| tensor.into_bound(py)) } else { Ok(object.clone()) }
    };
    let (left, right) = (tensor(left, left_is_array)?, tensor(right, right_is_array)?);
    Ok(Arguments::pair(&left, &right, |args| entry.try_call(py, args)))
}

/// The entry of a name, looked up once.
macro_rules! lookup {
    ($py:expr, $name:literal, $form:ident) => {{
        static ENTRY: PyOnceLock<&'static Entry> = PyOnceLock::new();
        *ENTRY.get_or_try_init($py, || entry($py, $name, Form::$form))?
    }};
}

/// Methods that differ by their names alone.
macro_rules! operators {
    (
        binary { $($forward:ident / $reflected:ident: $name:literal;)* }
        in_place { $($in_place:ident: $in_place_name:literal;)* }
        unary { $($unary:ident: $unary_name:literal;)* }
    ) => {
        #[pymethods]
        impl PyTensor {
            $(
                fn $forward(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    apply(lookup!(slf.py(), $name, Plain), None, slf.as_any(), other)
                }
                fn $reflected(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    apply(lookup!(slf.py(), $name, Plain), Some(stringify!($reflected)), other, slf.as_any())
                }
            )*
            $(
                fn $in_place(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
                    apply(lookup!(slf.py(), $in_place_name, InPlace), None, slf.as_any(), other).map(drop)
                }
            )*
            $(
                fn $unary(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                    slf.call_method0($unary_name).map(Bound::unbind)
                }
            )*
        }
    };
}

operators! {
    binary {
        __add__ / __radd__: "add";
        __sub__ / __rsub__: "sub";
        __mul__ / __rmul__: "mul";
        __truediv__ / __rtruediv__: "div";
        __floordiv__ / __rfloordiv__: "floor_divide";
        __mod__ / __rmod__: "remainder";
        __matmul__ / __rmatmul__: "matmul";
        __and__ / __rand__: "bitwise_and";
        __or__ / __ror__: "bitwise_or";
        __xor__ / __rxor__: "bitwise_xor";
        __lshift__ / __rlshift__: "bitwise_left_shift";
        __rshift__ / __rrshift__: "bitwise_right_shift";
    }
    in_place {
        __iadd__: "add";
        __isub__: "sub";
        __imul__: "mul";
        __itruediv__: "div";
        __ifloordiv__: "floor_divide";
        __imod__: "remainder";
        __iand__: "bitwise_and";
        __ior__: "bitwise_or";
        __ixor__: "bitwise_xor";
        __ilshift__: "bitwise_left_shift";
        __irshift__: "bitwise_right_shift";
    }
    unary {
        __neg__: "neg";
        __pos__: "positive";
        __abs__: "abs";
        __invert__: "bitwise_not";
    }
}

#[pymethods]
impl PyTensor {
    fn __pow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        apply(lookup!(slf.py(), "pow", Plain), None, slf.as_any(), other)
    }

    fn __ipow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        apply(lookup!(slf.py(), "pow", InPlace), None, slf.as_any(), other).map(drop)
    }

    fn __rpow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, _modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        apply(lookup!(slf.py(), "pow", Plain), Some("__rpow__"), other, slf.as_any())
    }

    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let entry = match op {
            CompareOp::Eq => lookup!(py, "eq", Plain),
            CompareOp::Ne => lookup!(py, "ne", Plain),
            CompareOp::Lt => lookup!(py, "lt", Plain),
            CompareOp::Le => lookup!(py, "le", Plain),
            CompareOp::Gt => lookup!(py, "gt", Plain),
            CompareOp::Ge => lookup!(py, "ge", Plain),
        };
        apply(entry, None, slf.as_any(), other)
    }

    /// By identity, as equality is element by element.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        slf.as_ptr() as isize >> 4
    }
}
