//! Elements as Python numbers.

use opforge::{DType, Element, Error, Scalar, Tensor};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use super::{PyTensor, construct};
use crate::binding;
use crate::error::{OrRaise, raise};
use crate::front_end;

/// The one element of a tensor.
pub fn item(py: Python<'_>, tensor: &Tensor) -> PyResult<Scalar> {
    only(py, tensor, "item", "a tensor of one element")
}

fn only(py: Python<'_>, tensor: &Tensor, op: &'static str, accepted: &str) -> PyResult<Scalar> {
    if tensor.elem_count() != 1 {
        let given = format!("a tensor of {} elements", tensor.elem_count());
        return Err(raise(py, &Error::value(op, "input", given, accepted)));
    }
    Ok(front_end::attempt(|| tensor.to_scalars()).or_raise(py)?.remove(0))
}

/// The elements as nested lists of numbers.
fn nested<'py, T: Copy + IntoPyObject<'py>>(
    py: Python<'py>,
    dims: &[usize],
    elements: &[T],
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&first, inner)) = dims.split_first() else {
        return elements[0].into_bound_py_any(py);
    };
    if inner.is_empty() {
        return Ok(PyList::new(py, elements.iter().copied())?.into_any());
    }
    let step: usize = inner.iter().product();
    let part = |i: usize| nested(py, inner, &elements[i * step..(i + 1) * step]);
    let parts = (0..first).map(part).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, parts)?.into_any())
}

/// A number that Python has for a scalar.
#[derive(Clone, Copy)]
struct Number(Scalar);

impl<'py> IntoPyObject<'py> for Number {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(binding::number(py, self.0)?.into_bound(py))
    }
}

/// What is not a tensor as one: numbers (of the given dtype, if any) here, anything else as `opforge.tensor` does it.
pub fn from_object(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let py = object.py();
    if let Some(number) = binding::scalar(object.as_borrowed()) {
        let dtype = dtype.unwrap_or_else(|| binding::natural_dtype(number));
        return Tensor::full_scalar(number, (), dtype, &opforge::Device::Cpu).or_raise(py);
    }
    construct::from_data("tensor", object, construct::Like::default())
}

#[pymethods]
impl PyTensor {
    /// The one element, as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        binding::number(py, item(py, &self.tensor(py))?)
    }

    /// The elements as nested lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor(py).detach();
        macro_rules! as_numbers {
            ($ty:ty) => {{
                let elements = || tensor.flatten_all()?.to_dtype(<$ty as Element>::DTYPE)?.to_vec1::<$ty>();
                nested(py, tensor.dims(), &front_end::attempt(elements).or_raise(py)?)
            }};
        }
        match tensor.dtype() {
            DType::Bool => as_numbers!(bool),
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => as_numbers!(f64),
            DType::U64 => as_numbers!(u64),
            dtype if dtype.is_int() => as_numbers!(i64),
            _ => {
                let elements = front_end::attempt(|| tensor.to_scalars()).or_raise(py)?;
                nested(py, tensor.dims(), &elements.into_iter().map(Number).collect::<Vec<_>>())
            }
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(only(py, &self.tensor(py), "bool", "a tensor of one element; see any() and all()")?.to_bool())
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        match item(py, &self.tensor(py))? {
            Scalar::Complex(_, im) if im != 0.0 => {
                Err(PyTypeError::new_err("only real numbers can be converted to a float: see complex(), real and imag"))
            }
            number => Ok(number.to_f64()),
        }
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        py.get_type::<PyInt>().call1((self.item(py)?,)).map(Bound::unbind)
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        let number = if tensor.elem_count() == 1 { Some(item(py, &tensor)?) } else { None };
        match number {
            Some(Scalar::Bool(b)) => binding::number(py, Scalar::Int(i64::from(b))),
            Some(number @ (Scalar::Int(_) | Scalar::UInt(_))) => binding::number(py, number),
            _ => Err(PyTypeError::new_err("only integer tensors of a single element can be converted to an index")),
        }
    }

    fn __complex__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (re, im) = item(py, &self.tensor(py))?.to_complex();
        binding::number(py, Scalar::Complex(re, im))
    }
}
