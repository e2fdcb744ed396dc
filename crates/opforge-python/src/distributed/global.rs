//! Global tensors. A distribution is its text, `cpu[0, 1] [S(0)]`: what `placement` and `sbp` of the package are made of.

use opforge_dist::planner::{Lies, lay};
use opforge_dist::{Distribution, Placement, Sbp, global};
use pyo3::prelude::*;

use crate::device::PyDevice;
use crate::error::OrRaise;
use crate::front_end;
use crate::tensor::PyTensor;

type Convert = fn(&opforge::Tensor, &Distribution) -> opforge::Result<opforge::Tensor>;

fn convert(py: Python<'_>, tensor: &Bound<'_, PyTensor>, distribution: &str, f: Convert) -> PyResult<Py<PyAny>> {
    let tensor = PyTensor::of(tensor);
    let distribution: Distribution = distribution.parse().or_raise(py)?;
    PyTensor::wrap(py, front_end::attempt(|| f(&tensor, &distribution)).or_raise(py)?)
}

/// A global tensor of a local one that every rank has.
#[pyfunction]
pub fn _distribute(py: Python<'_>, tensor: &Bound<'_, PyTensor>, distribution: &str) -> PyResult<Py<PyAny>> {
    convert(py, tensor, distribution, global::distribute)
}

/// A global tensor of the parts that ranks have.
#[pyfunction]
pub fn _from_part(py: Python<'_>, tensor: &Bound<'_, PyTensor>, distribution: &str) -> PyResult<Py<PyAny>> {
    convert(py, tensor, distribution, global::from_part)
}

/// A global tensor in another distribution.
#[pyfunction]
pub fn _redistribute(py: Python<'_>, tensor: &Bound<'_, PyTensor>, distribution: &str) -> PyResult<Py<PyAny>> {
    convert(py, tensor, distribution, global::redistribute)
}

/// A global tensor brought into a distribution along those dimensions of the mesh for which an sbp is given.
#[pyfunction]
pub fn _lay(py: Python<'_>, tensor: &Bound<'_, PyTensor>, lies: Vec<Option<String>>) -> PyResult<Py<PyAny>> {
    let parsed = lies.iter().map(|sbp| sbp.as_deref().map(str::parse::<Sbp>).transpose());
    let lies: Lies = parsed.collect::<opforge::Result<_>>().or_raise(py)?;
    let tensor = PyTensor::of(tensor);
    PyTensor::wrap(py, front_end::attempt(|| lay(&tensor, &lies)).or_raise(py)?)
}

/// Whether ranks have parts of a tensor.
#[pyfunction]
pub fn _is_global(tensor: &Bound<'_, PyTensor>) -> bool {
    global::is_global(&PyTensor::of(tensor))
}

/// This rank's part of a global tensor.
#[pyfunction]
pub fn _own_part(py: Python<'_>, tensor: &Bound<'_, PyTensor>) -> PyResult<Py<PyAny>> {
    let tensor = PyTensor::of(tensor);
    PyTensor::wrap(py, front_end::attempt(|| global::part_of(&tensor)).or_raise(py)?)
}

/// How a global tensor is distributed; None for a local one.
#[pyfunction]
pub fn _distribution(py: Python<'_>, tensor: &Bound<'_, PyTensor>) -> PyResult<Option<String>> {
    let distribution = global::distribution_of(&PyTensor::of(tensor)).or_raise(py)?;
    Ok(distribution.map(|distribution| distribution.to_string()))
}

/// The device of a placement's tensors.
#[pyfunction]
pub fn _placement_device(py: Python<'_>, placement: &str) -> PyResult<PyDevice> {
    let placement: Placement = placement.parse().or_raise(py)?;
    global::device_of(&placement).map(PyDevice::from).or_raise(py)
}

/// What a function makes on a placement, in a distribution: by parts, where that can be.
#[pyfunction]
pub fn _make_in(py: Python<'_>, distribution: &str, function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let distribution: Distribution = distribution.parse().or_raise(py)?;
    let mut raised = None;
    let mut make = || {
        let made = function.call0().and_then(|made| Ok(PyTensor::of(made.cast::<PyTensor>()?).clone()));
        made.map_err(|error| {
            let text = error.to_string();
            raised = Some(error);
            opforge::Error::msg(text)
        })
    };
    let made = front_end::called(|| global::make_in(&distribution, &mut make));
    match raised {
        Some(error) => Err(error),
        None => PyTensor::wrap(py, made.or_raise(py)?),
    }
}
