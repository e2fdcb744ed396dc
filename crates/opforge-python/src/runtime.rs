//! Threads, memory, and waiting for kernels.

use opforge::Error;
use opforge_runtime::{alloc, parallel, vm};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{OrRaise, raise};

/// The most threads that work on one operator.
#[pyfunction]
pub fn get_num_threads() -> usize {
    parallel::num_threads()
}

/// Sets the most threads that work on one operator.
#[pyfunction]
pub fn set_num_threads(py: Python<'_>, int: i64) -> PyResult<()> {
    let threads = usize::try_from(int).ok().filter(|&threads| threads > 0);
    let refused = || raise(py, &Error::value("set_num_threads", "int", int, "at least 1"));
    parallel::set_num_threads(threads.ok_or_else(refused)?);
    Ok(())
}

/// Waits until every kernel that was called for has run; raises the first failure that nobody has seen yet.
#[pyfunction]
pub fn synchronize(py: Python<'_>) -> PyResult<()> {
    vm::synchronize().or_raise(py)
}

/// Whether calls that wait may be run together, as one kernel.
#[pyfunction]
pub fn is_fusing() -> bool {
    vm::is_fusing()
}

/// Lets calls that wait be run together, as one kernel, or forbids it; results are the same. At first allowed, unless the environment variable
/// `OPFORGE_FUSE` is 0.
#[pyfunction]
pub fn set_fusing(mode: bool) {
    vm::set_fusing(mode);
}

/// The bytes that tensors take.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub fn memory_allocated(device: Option<&Bound<'_, PyAny>>) -> usize {
    let _ = device; // There is one memory.
    alloc::stats().in_use
}

/// The most bytes that tensors took since the last `reset_peak_memory_stats`.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub fn max_memory_allocated(device: Option<&Bound<'_, PyAny>>) -> usize {
    let _ = device; // There is one memory.
    alloc::stats().peak
}

/// The bytes that tensors take, and those kept for further tensors.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub fn memory_reserved(device: Option<&Bound<'_, PyAny>>) -> usize {
    let _ = device; // There is one memory.
    let stats = alloc::stats();
    stats.in_use + stats.cached
}

/// The allocator's figures, in bytes and in calls.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub fn memory_stats<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let _ = device; // There is one memory.
    let stats = alloc::stats();
    let figures = PyDict::new(py);
    figures.set_item("in_use", stats.in_use)?;
    figures.set_item("cached", stats.cached)?;
    figures.set_item("peak", stats.peak)?;
    figures.set_item("limit", alloc::limit())?;
    figures.set_item("allocations", stats.allocations)?;
    figures.set_item("reused", stats.reused)?;
    figures.set_item("frees", stats.frees)?;
    Ok(figures)
}

/// Starts a new measurement of `max_memory_allocated`.
#[pyfunction]
#[pyo3(signature = (device = None))]
pub fn reset_peak_memory_stats(device: Option<&Bound<'_, PyAny>>) {
    let _ = device; // There is one memory.
    alloc::reset_peak();
}

/// Gives memory that is kept for further tensors back to the system.
#[pyfunction]
pub fn empty_cache() {
    alloc::empty_cache();
}

/// Sets the most bytes that tensors may take; what is beyond raises OutOfMemoryError.
#[pyfunction]
pub fn set_memory_limit(nbytes: usize) {
    alloc::set_limit(nbytes);
}
