//! Requests of collectives, as Python objects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge::Tensor;
use opforge_dist::Fault;
use pyo3::prelude::*;

use super::world::{PATIENCE, Slot, State, World, lock};
use crate::error::{OrRaise, raise};
use crate::tensor::PyTensor;

/// A collective or a message under way. It goes on while somebody waits for it, or for another call of the same world; by itself once it is released.
#[pyclass(name = "_CollectiveRequest", module = "opforge._core", frozen)]
pub struct PyCollectiveRequest {
    world: Arc<World>,
    slot: Slot,
    call: &'static str,
    result: Option<Tensor>,
}

impl PyCollectiveRequest {
    pub fn new(world: Arc<World>, slot: Slot, call: &'static str, result: Option<Tensor>) -> Self {
        PyCollectiveRequest { world, slot, call, result }
    }

    /// Of a call that has no result but what it does to its tensors.
    pub fn without_result(self) -> Self {
        PyCollectiveRequest { result: None, ..self }
    }

    /// Of a call that changes this tensor in place.
    pub fn changing(self, tensor: &Tensor) -> Self {
        tensor.bump_version();
        self.without_result()
    }
}

#[pymethods]
impl PyCollectiveRequest {
    /// Lets the call go on by itself from now on, in a thread that all worlds share, where the engine takes calls from any thread.
    fn release(&self, py: Python<'_>) {
        py.detach(|| self.world.release());
    }

    /// Whether the call is over, with or without success.
    fn test(&self, py: Python<'_>) -> bool {
        py.detach(|| {
            self.world.advance();
            lock(&self.slot).poll()
        })
    }

    /// Waits until the call is over, at most so many seconds, without the interpreter's lock; Ctrl-C ends the wait. The result, if it has one.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        let limit = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let begun = Instant::now();
        loop {
            let left = limit.map_or(PATIENCE, |limit| limit.saturating_sub(begun.elapsed()).min(PATIENCE));
            if py.detach(|| self.world.wait_until(&self.slot, Instant::now() + left)) {
                return self.result(py);
            }
            // A call that is given up goes on.
            py.check_signals().inspect_err(|_| self.world.release())?;
            if let Some(waited) = limit.filter(|limit| begun.elapsed() >= *limit) {
                self.world.release();
                return Err(raise(py, &Fault::TimedOut { call: self.call.into(), waited }.into()));
            }
        }
    }

    /// The result of a call that is over; None where it has none.
    fn result(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match &*lock(&self.slot) {
            State::Done => self.result.clone().map(|tensor| PyTensor::wrap(py, tensor)).transpose(),
            State::Failed(error) => Err(error.clone()).or_raise(py),
            State::Running(_) => {
                let given = "a call that is under way";
                Err(opforge::Error::value(self.call, "result", given, "a call that is over: wait() first")).or_raise(py)
            }
        }
    }
}
