//! Sources of random numbers: `Generator`, and the functions of the one that is used where none is named.

use opforge::tracer::is_traced;
use opforge::{Device, Error, Generator, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::device::PyDevice;
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// A stream of random numbers. The same seed and the same calls give the same numbers, on any number of threads.
#[pyclass(name = "Generator", module = "opforge", frozen)]
pub struct PyGenerator(pub Generator, PyDevice);

impl From<Generator> for PyGenerator {
    fn from(generator: Generator) -> Self {
        PyGenerator(generator, Device::Cpu.into())
    }
}

/// What a new generator starts from, as PyTorch's do.
const SEED: u64 = 67_280_421_310_721;

/// A seed of any sign.
#[derive(FromPyObject)]
pub enum Seed {
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

/// Refuses to set a state while a graph is traced: it draws when it runs.
fn check_untraced() -> Result<(), Error> {
    if !is_traced() {
        return Ok(());
    }
    Err(Error::value(
        "Generator",
        "state",
        "set while a graph is traced",
        "one that is set outside: graphs draw when they run",
    ))
}

/// The numbers of a state: seed, then number of draws, the low byte first.
fn words(state: &Tensor) -> Result<[u64; 2], Error> {
    let bytes = state.to_vec1::<u8>()?;
    let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
        let given = format!("{:?}", state.shape());
        return Err(Error::shape("set_state", "new_state", given, "16 bytes, as get_state gives"));
    };
    let state = u128::from_le_bytes(bytes);
    Ok([state as u64, (state >> 64) as u64])
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device = None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        // Numbers are the same on each.
        let device = device.map(PyDevice::extract).transpose()?;
        let generator = Generator::new();
        generator.manual_seed(SEED);
        Ok(PyGenerator(generator, device.unwrap_or(Device::Cpu.into())))
    }

    /// A new generator, which goes on with the same numbers.
    fn clone_state(&self) -> Self {
        let generator = Generator::new();
        generator.set_state(self.0.state());
        PyGenerator(generator, self.1)
    }

    /// Copies are generators of their own.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let state = slf.get().get_state(py)?.into_bound(py);
        let arguments = PyTuple::new(py, [slf.getattr("device")?, state])?;
        Ok((py.import("opforge.random")?.getattr("_restored")?, arguments))
    }

    /// Restarts from a seed.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: Seed) -> PyResult<Bound<'py, Self>> {
        check_untraced().or_raise(slf.py())?;
        slf.get().0.manual_seed(seed.into());
        Ok(slf)
    }

    /// Restarts from a seed that differs from run to run, and returns it.
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        check_untraced().or_raise(py)?;
        Ok(self.0.seed())
    }

    /// The seed that it was last restarted from.
    fn initial_seed(&self) -> u64 {
        self.0.initial_seed()
    }

    /// Seed and place in the stream, as a tensor of bytes.
    fn get_state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let bytes: Vec<u8> = self.0.state().iter().flat_map(|word| word.to_le_bytes()).collect();
        PyTensor::wrap(py, Tensor::from_vec(bytes, 16, &Device::Cpu).or_raise(py)?)
    }

    /// Goes back, or on, to what `get_state` gave; returns the generator.
    fn set_state<'py>(slf: PyRef<'py, Self>, new_state: &Bound<'py, PyTensor>) -> PyResult<PyRef<'py, Self>> {
        check_untraced().or_raise(new_state.py())?;
        slf.0.set_state(words(&PyTensor::of(new_state)).or_raise(new_state.py())?);
        Ok(slf)
    }

    #[getter]
    fn device(&self) -> PyDevice {
        self.1
    }

    fn __repr__(&self) -> String {
        format!("<opforge.Generator seed={}>", self.0.initial_seed())
    }
}

/// Restarts the random numbers from a seed; returns their generator.
#[pyfunction]
pub fn manual_seed(seed: Seed) -> PyGenerator {
    Generator::global().manual_seed(seed.into());
    PyGenerator::from(Generator::default())
}

/// Restarts the random numbers from a seed that differs from run to run, and returns it.
#[pyfunction]
pub fn seed() -> u64 {
    Generator::global().seed()
}

/// The seed that the random numbers were last restarted from.
#[pyfunction]
pub fn initial_seed() -> u64 {
    Generator::global().initial_seed()
}

/// Seed and place in the stream of random numbers, as a tensor of bytes.
#[pyfunction]
pub fn get_rng_state(py: Python<'_>) -> PyResult<Py<PyAny>> {
    PyGenerator::from(Generator::default()).get_state(py)
}

/// Goes back, or on, to what `get_rng_state` gave.
#[pyfunction]
pub fn set_rng_state(new_state: &Bound<'_, PyTensor>) -> PyResult<()> {
    Generator::default().set_state(words(&PyTensor::of(new_state)).or_raise(new_state.py())?);
    Ok(())
}
