//! Functions whose forward and backward are written in Python: what `opforge.autograd.Function` is made of.

use std::sync::Arc;

use opforge::autograd::{self, FunctionBackward, SavedTensor};
use opforge::{Error, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::{objects, several};
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
    let inputs: Vec<Tensor> = several(inputs)?.iter().map(|t| t.get().tensor(py)).collect();
    let given = several(outputs)?;
    let outputs: Vec<Tensor> = given.iter().map(|t| t.get().tensor(py)).collect();
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let recorded =
        autograd::record_function_in_place(name, &inputs, &outputs, &differentiable, &changed, in_python(backward));
    let object = |(recorded, (before, object)): (Tensor, (&Tensor, &Bound<'py, PyTensor>))| {
        if recorded.id() == before.id() {
            Ok(object.clone().into_any())
        } else {
            Ok(PyTensor::wrap(py, recorded)?.into_bound(py))
        }
    };
    let objects = recorded.or_raise(py)?.into_iter().zip(outputs.iter().zip(&given)).map(object);
    PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

/// A backward that calls Python's.
fn in_python(backward: Py<PyAny>) -> Arc<FunctionBackward> {
    Arc::new(move |grads: &[Option<Tensor>], needs: &[bool]| {
        let call = |py: Python<'_>| -> PyResult<Vec<Option<Tensor>>> {
            let result = backward.bind(py).call1((objects(py, grads)?, PyTuple::new(py, needs)?))?;
            let tensor = |item: Bound<'_, PyAny>| -> PyResult<Option<Tensor>> {
                if item.is_none() { Ok(None) } else { Ok(Some(item.cast::<PyTensor>()?.get().tensor(py))) }
            };
            result.try_iter()?.map(|item| tensor(item?)).collect()
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
        PySavedTensor(SavedTensor::new(&tensor.get().tensor(tensor.py()), is_output))
    }

    /// Tells a saved output's place in the graph, once it is recorded.
    fn bind(&self, output: &Bound<'_, PyTensor>) {
        self.0.bind(&output.get().tensor(output.py()));
    }

    /// The tensor as it was saved.
    fn unpack(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        PyTensor::wrap(py, self.0.unpack().or_raise(py)?)
    }
}
