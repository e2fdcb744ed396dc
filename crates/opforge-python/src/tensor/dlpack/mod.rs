//! DLPack: tensors of other libraries as ours and ours as theirs, sharing memory.

mod abi;
mod exchange;
mod export;
mod import;

use pyo3::prelude::*;

use super::{PyTensor, construct};
use crate::error::OrRaise;
pub use exchange::install;
pub use import::import;

/// A tensor over the memory of another library's: of an object with `__dlpack__`, or of a capsule. `copy=True` copies it.
#[pyfunction]
#[pyo3(signature = (ext_tensor, *, device = None, copy = None))]
pub fn from_dlpack(
    ext_tensor: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Py<PyAny>> {
    let py = ext_tensor.py();
    let shared = import(ext_tensor)?;
    let device = construct::device(device)?.unwrap_or(*shared.device());
    let made = if copy == Some(true) { shared.copy() } else { Ok(shared) };
    PyTensor::wrap(py, made.and_then(|tensor| tensor.to_device(&device)).or_raise(py)?)
}
