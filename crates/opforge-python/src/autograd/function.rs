//! Functions whose forward and backward are written in Python: what `opforge.autograd.Function` is made of.

use std::sync::Arc;

use opforge::autograd::{self, FunctionBackward, SavedTensor};
use opforge::{Error, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::{several, tensors_of};
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// Records a computation of which only the results and a backward are known; returns its outputs.
///
/// `backward(grads, needs)` gets the outputs' gradients (None where nothing depended on one) and whether each input's is wanted, and returns a
/// gradient or None for each input. `changed` marks the outputs that are inputs changed in place.
#[pyfunction]
#[pyo3(signature = (name, inputs, outputs, differentiable, backward, changed = vec![]))]
pub fn record_function<'py>(
    py: Python<'py>,
    name: &str,
    inputs: &Bound<'py, PyAny>,
    outputs: &Bound<'py, PyAny>,
    differentiable: Vec<bool>,
    backward: Py<PyAny>,
    changed: Vec<bool>,
) -> PyResult<Bound<'py, PyList>> {
    let inputs = tensors_of(inputs)?;
    let given = several(outputs)?;
    let outputs: Vec<Tensor> = given.iter().map(PyTensor::of).collect();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let recorded =
        autograd::record_function_in_place(name, &inputs, &outputs, &differentiable, &changed, in_python(backward));
    let object = |(recorded, (before, object)): (Tensor, (&Tensor, &Bound<'py, PyTensor>))| {
        if recorded.id() == before.id() { Ok(object.clone()) } else { Bound::new(py, PyTensor::from(recorded)) }
    };
    let objects = recorded.or_raise(py)?.into_iter().zip(outputs.iter().zip(&given)).map(object);
    PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

/// A backward that calls Python's.
fn in_python(backward: Py<PyAny>) -> Arc<FunctionBackward> {
    Arc::new(move |grads: &[Option<Tensor>], needs: &[bool]| {
        let call = |py: Python<'_>| -> PyResult<Vec<Option<Tensor>>> {
            let grads = PyList::new(py, grads.iter().map(|grad| grad.clone().map(PyTensor::from)))?;
            let result = backward.bind(py).call1((grads, PyTuple::new(py, needs)?))?;
            result.try_iter()?.map(|item| PyTensor::optional(&item?)).collect()
        };
        Python::attach(call).map_err(Error::wrap)
    })
}

/// A tensor kept for backward, with a check that nobody changes it in place until then.
#[pyclass(name = "SavedTensor", module = "opforge", frozen)]
pub struct PySavedTensor(SavedTensor);

#[pymethods]
impl PySavedTensor {
    #[new]
    #[pyo3(signature = (tensor, is_output = false))]
    fn new(tensor: &Bound<'_, PyTensor>, is_output: bool) -> Self {
        PySavedTensor(SavedTensor::new(&PyTensor::of(tensor), is_output))
    }

    /// Tells a saved output's place in the graph, once it is recorded.
    fn bind(&self, output: &Bound<'_, PyTensor>) {
        self.0.bind(&PyTensor::of(output));
    }

    /// The tensor as it was saved.
    fn unpack(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        PyTensor::wrap(py, self.0.unpack().or_raise(py)?)
    }
}
