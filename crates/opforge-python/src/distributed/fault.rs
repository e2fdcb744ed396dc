//! What goes wrong between processes, as exceptions of `opforge.distributed`.

use opforge::Error;
use opforge_dist::Fault;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::error;

/// An error as an exception: DistBackendError for failures of MPI, DistError for other ranks' faults, else the error's own class.
#[cold]
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let Some(fault) = Fault::of(error) else { return error::raise(py, error) };
    let name = match fault {
        Fault::Library { .. } | Fault::Unavailable { .. } => "DistBackendError",
        _ => "DistError",
    };
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, error.to_string()),
        Err(failure) => failure,
    }
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    Ok(py.import("opforge.distributed._errors")?.getattr(name)?.cast_into::<PyType>()?)
}

/// Results whose error becomes an exception of `opforge.distributed`.
pub trait OrRaiseFault<T> {
    /// The value, or the error as an exception.
    fn or_raise_fault(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaiseFault<T> for opforge::Result<T> {
    fn or_raise_fault(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}
