//! The VM's recorder, for the module `opforge.profiler`.

use opforge_runtime::vm;
use opforge_runtime::vm::trace::{self, Kind};
use pyo3::prelude::*;

use crate::error::OrRaise;

/// Operator or call between processes, stream, thread; when it was called, began and ended, in nanoseconds; bytes of its results; the program that it was
/// part of; whether it is a call between processes.
type Event = (String, u32, u32, u64, u64, u64, usize, Option<u64>, bool);

/// Begins to record kernels and calls between processes, once the kernels called for so far have run.
#[pyfunction]
pub fn _start_trace(py: Python<'_>) -> PyResult<()> {
    vm::synchronize().or_raise(py)?;
    trace::start();
    Ok(())
}

/// Ends to record, once the kernels called for so far have run; gives them in the order of their ends.
#[pyfunction]
pub fn _stop_trace(py: Python<'_>) -> PyResult<Vec<Event>> {
    let waited = vm::synchronize();
    let events = trace::stop();
    waited.or_raise(py)?;
    let event = |e: trace::Event| {
        let is_communication = e.kind == Kind::Communication;
        (e.op, e.stream, e.thread, e.issued, e.start, e.end, e.bytes, e.program, is_communication)
    };
    Ok(events.into_iter().map(event).collect())
}

/// The time on the recorder's clock, in nanoseconds.
#[pyfunction]
pub fn _trace_clock() -> u64 {
    trace::clock()
}
