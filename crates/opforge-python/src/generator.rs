//! Sources of random numbers: `Generator`, and the functions of the one that is used where none is named.

use opforge::{Device, Error, Generator, Tensor};
use pyo3::prelude::*;

use crate::device::PyDevice;
use crate::error::raise;
use crate::tensor::PyTensor;

/// A stream of random numbers. The same seed and the same calls give the same numbers, on any number of threads.
#[pyclass(name = "Generator", module = "opforge", frozen)]
pub struct PyGenerator(pub Generator);

/// A seed of any sign.
#[derive(FromPyObject)]
enum Seed {
    Signed(i64),
    Unsigned(u64),
}

impl From<Seed> for u64 {
    fn from(seed: Seed) -> u64 {
        match seed {
            Seed::Signed(seed) => seed as u64,
            Seed::Unsigned(seed) => seed,
        }
    }
}

/// The state as bytes: seed, then number of draws, the low byte first.
fn state_tensor(generator: &Generator) -> Result<Tensor, Error> {
    let bytes: Vec<u8> = generator.state().iter().flat_map(|word| word.to_le_bytes()).collect();
    Tensor::from_vec(bytes, 16, &Device::Cpu)
}

fn set_state(generator: &Generator, state: &Tensor) -> Result<(), Error> {
    let bytes = state.to_vec1::<u8>()?;
    let word = |i: usize| bytes.get(8 * i..8 * i + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    match (word(0), word(1), bytes.len()) {
        (Some(seed), Some(draws), 16) => {
            generator.set_state([seed, draws]);
            Ok(())
        }
        _ => {
            Err(Error::shape("set_state", "new_state", format!("{:?}", state.shape()), "16 bytes, as get_state gives"))
        }
    }
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device = None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> Self {
        let _ = device;
        PyGenerator(Generator::new())
    }

    /// Restarts from a seed.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: Seed) -> Bound<'py, Self> {
        slf.get().0.manual_seed(seed.into());
        slf
    }

    /// Restarts from a seed that differs from run to run, and returns it.
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// The seed that it was last restarted from.
    fn initial_seed(&self) -> u64 {
        self.0.initial_seed()
    }

    /// Seed and place in the stream, as a tensor of bytes.
    fn get_state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        PyTensor::wrap(py, state_tensor(&self.0).map_err(|e| raise(py, &e))?)
    }

    /// Goes back, or on, to what `get_state` gave.
    fn set_state(&self, new_state: &Bound<'_, PyTensor>) -> PyResult<()> {
        let py = new_state.py();
        set_state(&self.0, &new_state.get().tensor(py)).map_err(|e| raise(py, &e))
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice::from(Device::Cpu)
    }

    fn __repr__(&self) -> String {
        format!("<opforge.Generator seed={}>", self.0.initial_seed())
    }
}

/// Restarts the random numbers from a seed; returns their generator.
#[pyfunction]
fn manual_seed(seed: Seed) -> PyGenerator {
    Generator::global().manual_seed(seed.into());
    PyGenerator(Generator::default())
}

/// Restarts the random numbers from a seed that differs from run to run, and returns it.
#[pyfunction]
fn seed() -> u64 {
    Generator::global().seed()
}

/// The seed that the random numbers were last restarted from.
#[pyfunction]
fn initial_seed() -> u64 {
    Generator::global().initial_seed()
}

/// Seed and place in the stream of random numbers, as a tensor of bytes.
#[pyfunction]
fn get_rng_state(py: Python<'_>) -> PyResult<Py<PyAny>> {
    PyTensor::wrap(py, state_tensor(Generator::global()).map_err(|e| raise(py, &e))?)
}

/// Goes back, or on, to what `get_rng_state` gave.
#[pyfunction]
fn set_rng_state(new_state: &Bound<'_, PyTensor>) -> PyResult<()> {
    let py = new_state.py();
    set_state(Generator::global(), &new_state.get().tensor(py)).map_err(|e| raise(py, &e))
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGenerator>()?;
    module.add("default_generator", PyGenerator(Generator::default()))?;
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    module.add_function(wrap_pyfunction!(seed, module)?)?;
    module.add_function(wrap_pyfunction!(initial_seed, module)?)?;
    module.add_function(wrap_pyfunction!(get_rng_state, module)?)?;
    module.add_function(wrap_pyfunction!(set_rng_state, module)?)
}
