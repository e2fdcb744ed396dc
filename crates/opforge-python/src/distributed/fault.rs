//! What goes wrong between processes, as exceptions of `opforge.distributed`.

use opforge::Error;
use opforge_dist::Fault;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The class of errors between ranks, DistBackendError for failures of MPI, DistNetworkError for those of connections, DistError for other ranks' faults; none for
/// other errors.
#[cold]
pub fn class_of_fault<'py>(py: Python<'py>, error: &Error) -> Option<PyResult<Bound<'py, PyType>>> {
    let name = match Fault::of(error)? {
        Fault::Library { .. } | Fault::Unavailable { .. } => "DistBackendError",
        Fault::Network { .. } => "DistNetworkError",
        _ => "DistError",
    };
    let class = || Ok(py.import("opforge.distributed._errors")?.getattr(name)?.cast_into::<PyType>()?);
    Some(class())
}
