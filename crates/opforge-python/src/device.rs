use std::hash::{DefaultHasher, Hash, Hasher};

use opforge::{Device, Error};
use pyo3::prelude::*;

use crate::error::raise;

/// Where a tensor's elements are: `device("cpu")`, or `device("meta")` for tensors that only have a shape.
#[pyclass(name = "device", module = "opforge", frozen, eq, from_py_object)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PyDevice(pub Device);

/// A device by its name: `cpu`, `cpu:0`, `meta`.
pub fn parse(name: &str) -> Result<Device, Error> {
    match name {
        "cpu" | "cpu:0" => Ok(Device::Cpu),
        "meta" => Ok(Device::Meta),
        other => {
            Err(Error::device("device", "type", format!("'{other}'"), "'cpu' or 'meta'; this build has no others"))
        }
    }
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<usize>) -> PyResult<Self> {
        if let Ok(device) = r#type.cast::<PyDevice>() {
            return Ok(*device.get());
        }
        let name: String = r#type.extract()?;
        let name = index.map_or_else(|| name.clone(), |index| format!("{name}:{index}"));
        parse(&name).map(PyDevice).map_err(|e| raise(r#type.py(), &e))
    }

    #[getter]
    fn r#type(&self) -> String {
        self.0.to_string()
    }

    #[getter]
    fn index(&self) -> Option<usize> {
        None
    }

    fn __repr__(&self) -> String {
        format!("device(type='{}')", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().0.to_string(),))
    }
}
