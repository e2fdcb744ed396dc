//! Exceptions: each class of error derives from the class that PyTorch raises and from the Python built-in of that meaning.

use opforge::{Error, ErrorKind};
use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

/// The exception classes, in the order of [`CLASSES`].
static TYPES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

type Base = for<'py> fn(Python<'py>) -> Bound<'py, PyType>;

/// Name, bases, meaning. The first class is the base of all others.
const CLASSES: [(&str, &[Base], &str); 13] = [
    ("OpforgeError", &[|py| py.get_type::<PyRuntimeError>()], "What all errors of opforge derive from."),
    ("ShapeError", &[|py| py.get_type::<PyValueError>()], "Shapes that do not go together."),
    ("DTypeError", &[|py| py.get_type::<PyTypeError>()], "A dtype that is not accepted."),
    ("DeviceError", &[|py| py.get_type::<PyValueError>()], "A device that is not accepted."),
    ("IndexError", &[|py| py.get_type::<PyIndexError>()], "An index or dimension out of range."),
    ("ArgumentError", &[|py| py.get_type::<PyValueError>()], "Any other argument that is not accepted."),
    ("OutOfMemoryError", &[|py| py.get_type::<PyMemoryError>()], "Memory that cannot be had."),
    ("AutogradError", &[], "Misuse of gradients."),
    ("KernelError", &[], "A kernel that failed."),
    ("CustomOpError", &[], "A custom operator that cannot be built or loaded, or whose kernel failed."),
    ("FormatError", &[|py| py.get_type::<PyValueError>()], "A file whose content contradicts its format."),
    (
        "UnsupportedError",
        &[|py| py.get_type::<PyNotImplementedError>(), |py| py.get_type::<PyTypeError>()],
        "A dtype that an operator has no kernel for.",
    ),
    (
        "LinAlgError",
        &[|py| py.get_type::<PyValueError>()],
        "A matrix that cannot be factored, inverted or solved with.",
    ),
];

fn class_of(error: &Error) -> Option<usize> {
    if matches!(error.root(), Error::UnsupportedDTypeForOp(..)) {
        return Some(11);
    }
    Some(match error.kind() {
        ErrorKind::Shape => 1,
        ErrorKind::DType => 2,
        ErrorKind::Device => 3,
        ErrorKind::Index => 4,
        ErrorKind::Value => 5,
        ErrorKind::OutOfMemory => 6,
        ErrorKind::Autograd => 7,
        ErrorKind::Kernel | ErrorKind::Interrupted => 8,
        ErrorKind::CustomOp => 9,
        ErrorKind::Format => 10,
        ErrorKind::Linalg => 12,
        ErrorKind::Io => return None,
        _ => 0,
    })
}

fn types(py: Python<'_>) -> PyResult<&Vec<Py<PyType>>> {
    TYPES.get_or_try_init(py, || {
        let mut types: Vec<Py<PyType>> = Vec::new();
        for (name, bases, doc) in CLASSES {
            let first = types.first().map(|root| root.bind(py).clone());
            let bases = first.into_iter().chain(bases.iter().map(|base| base(py)));
            let bases = PyTuple::new(py, bases.collect::<Vec<_>>())?;
            let dict = PyDict::new(py);
            dict.set_item("__doc__", doc)?;
            dict.set_item("__module__", "opforge")?;
            let class = py.get_type::<PyType>().call1((name, bases, dict))?;
            types.push(class.cast_into::<PyType>()?.unbind());
        }
        Ok(types)
    })
}

/// An error as the exception of its class.
#[cold]
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    if let Some(raised) = error.root().wrapped::<PyErr>() {
        note_contexts(py, error, raised);
        return raised.clone_ref(py);
    }
    if let Error::Io(io) = error.root() {
        let text = error.to_string();
        return match error.os_number() {
            Some(number) => PyOSError::new_err((number, text)),
            None => std::io::Error::new(io.kind(), text).into(),
        };
    }
    if let Some(class) = crate::distributed::class_of_fault(py, error) {
        return class.map_or_else(|failure| failure, |class| PyErr::from_type(class, error.to_string()));
    }
    match types(py) {
        Ok(types) => PyErr::from_type(types[class_of(error).unwrap_or(0)].bind(py).clone(), error.to_string()),
        Err(failure) => failure,
    }
}

/// Notes with an exception of Python's what was being done when it was raised, each once.
fn note_contexts(py: Python<'_>, error: &Error, raised: &PyErr) {
    let Error::Context { context, inner } = error else { return };
    let noted = raised.value(py).getattr("__notes__").and_then(|notes| notes.contains(context));
    if !noted.unwrap_or(false) {
        // A note that cannot be added is no reason to hide the exception.
        let _ = raised.value(py).call_method1("add_note", (context,));
    }
    note_contexts(py, inner, raised);
}

/// Results whose error becomes an exception.
pub trait OrRaise<T> {
    /// The value, or the error as an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for opforge::Result<T> {
    #[inline]
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    CLASSES.iter().zip(types(py)?).try_for_each(|((name, ..), class)| module.add(*name, class.bind(py)))
}
