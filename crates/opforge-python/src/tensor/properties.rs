//! What a tensor tells of itself: shape, strides, dtype, device.

use opforge::{Error, Tensor};
use opforge_core::Kind;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::PyTensor;
use super::index::write;
use super::size::size;
use crate::device::PyDevice;
use crate::dtype::{self, PyDType};
use crate::error::OrRaise;

impl PyTensor {
    /// The place of a dimension; a scalar has none, though most functions take it as a vector of one element.
    fn dim_of(py: Python<'_>, tensor: &Tensor, op: &'static str, dim: i64) -> PyResult<usize> {
        if tensor.rank() == 0 {
            return Err(Error::index(op, "dim", dim, "no dim: the tensor has no dimensions")).or_raise(py);
        }
        opforge_core::normalize_dim(dim, tensor.rank(), op).or_raise(py)
    }
}

#[pymethods]
impl PyTensor {
    /// The lengths of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        size(py, self.tensor(py).dims())
    }

    /// The lengths of the dimensions, or of one.
    #[pyo3(signature = (dim = None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor(py);
        match dim {
            None => size(py, tensor.dims()),
            Some(dim) => Ok(tensor.dims()[Self::dim_of(py, &tensor, "size", dim)?].into_pyobject(py)?.into_any()),
        }
    }

    /// The strides, in elements; or that of one dimension.
    #[pyo3(signature = (dim = None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor(py);
        match dim {
            None => Ok(PyTuple::new(py, tensor.stride())?.into_any()),
            Some(dim) => Ok(tensor.stride()[Self::dim_of(py, &tensor, "stride", dim)?].into_pyobject(py)?.into_any()),
        }
    }

    /// The element type.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        dtype::object(py, self.tensor(py).dtype())
    }

    /// Where the elements are.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyDevice {
        PyDevice::from(*self.tensor(py).device())
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> usize {
        self.tensor(py).rank()
    }

    /// The number of dimensions.
    fn dim(&self, py: Python<'_>) -> usize {
        self.tensor(py).rank()
    }

    /// The number of dimensions.
    fn ndimension(&self, py: Python<'_>) -> usize {
        self.tensor(py).rank()
    }

    /// Whether both have the same shape.
    fn is_same_size(&self, py: Python<'_>, other: &Bound<'_, PyTensor>) -> bool {
        self.tensor(py).shape() == other.get().tensor(py).shape()
    }

    /// Whether the elements are in main memory.
    #[getter]
    fn is_cpu(&self, py: Python<'_>) -> bool {
        self.tensor(py).device().is_cpu()
    }

    /// The number of elements.
    fn numel(&self, py: Python<'_>) -> usize {
        self.tensor(py).elem_count()
    }

    /// The number of elements.
    fn nelement(&self, py: Python<'_>) -> usize {
        self.tensor(py).elem_count()
    }

    /// Bytes an element takes.
    fn element_size(&self, py: Python<'_>) -> usize {
        self.tensor(py).dtype().size_in_bytes()
    }

    /// Bytes an element takes.
    #[getter]
    fn itemsize(&self, py: Python<'_>) -> usize {
        self.tensor(py).dtype().size_in_bytes()
    }

    /// Bytes all elements take.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> usize {
        let tensor = self.tensor(py);
        tensor.elem_count() * tensor.dtype().size_in_bytes()
    }

    /// The place of the first element in the storage, in elements.
    fn storage_offset(&self, py: Python<'_>) -> usize {
        self.tensor(py).layout().start_offset()
    }

    /// Whether the elements lie in row-major order without gaps, or in that of a `memory_format`.
    #[pyo3(signature = (memory_format = None))]
    fn is_contiguous(slf: &Bound<'_, Self>, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let Some(format) = memory_format else { return Ok(PyTensor::of(slf).is_contiguous()) };
        slf.py().import("opforge._tensors.layouts")?.call_method1("lies_in", (slf, format))?.extract()
    }

    /// Whether the dtype is one of floats.
    fn is_floating_point(&self, py: Python<'_>) -> bool {
        self.tensor(py).dtype().kind() == Kind::Float
    }

    /// Whether the dtype is one of complex numbers.
    fn is_complex(&self, py: Python<'_>) -> bool {
        self.tensor(py).dtype().is_complex()
    }

    /// Whether the dtype has a sign.
    fn is_signed(&self, py: Python<'_>) -> bool {
        PyDType(self.tensor(py).dtype()).is_signed()
    }

    /// Whether the elements are on a CUDA device.
    #[getter]
    fn is_cuda(&self, py: Python<'_>) -> bool {
        self.tensor(py).device().is_cuda()
    }

    /// Whether this is a tensor without elements, which only has a shape.
    #[getter]
    fn is_meta(&self, py: Python<'_>) -> bool {
        self.tensor(py).device().is_meta()
    }

    /// How often the storage was changed in place.
    #[getter]
    fn _version(&self, py: Python<'_>) -> u64 {
        self.tensor(py).version()
    }

    /// Transposed, the last dimension first.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        let dims: Vec<usize> = (0..tensor.rank()).rev().collect();
        Self::wrap(py, tensor.permute(dims).or_raise(py)?)
    }

    /// With the last two dimensions transposed.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        Self::wrap(py, tensor.transpose(opforge::D::Minus2, opforge::D::Minus1).or_raise(py)?)
    }

    /// The real parts, a view; of real numbers the tensor itself.
    #[getter]
    fn real(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::wrap(py, opforge::functional::real(&self.tensor(py)).or_raise(py)?)
    }

    /// The imaginary parts, a view.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::wrap(py, opforge::functional::imag(&self.tensor(py)).or_raise(py)?)
    }

    #[setter]
    fn set_real(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let part = opforge::functional::real(&self.tensor(py)).or_raise(py)?;
        write(&part, value)
    }

    #[setter]
    fn set_imag(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let part = opforge::functional::imag(&self.tensor(py)).or_raise(py)?;
        write(&part, value)
    }

    /// The conjugate of a matrix transposed.
    #[getter(H)]
    fn adjoint(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let tensor = self.tensor(py);
        match tensor.rank() {
            0 | 2 => Self::wrap(py, opforge::functional::adjoint(&tensor).or_raise(py)?),
            _ => Err(Error::shape("H", "self", format!("{:?}", tensor.shape()), "a matrix")).or_raise(py),
        }
    }

    /// The conjugates of the transposed matrices.
    #[getter(mH)]
    fn matrix_adjoint(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::wrap(py, opforge::functional::adjoint(&self.tensor(py)).or_raise(py)?)
    }

    /// The functions of the Python array API standard for this class: `opforge.array_api`, if it has what the version (`"2025.12"`) asks for.
    #[pyo3(signature = (*, api_version = None))]
    fn __array_namespace__<'py>(
        &self,
        py: Python<'py>,
        api_version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        py.import("opforge.array_api")?.call_method1("_namespace", (api_version,))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let tensor = self.tensor(py);
        let none = || pyo3::exceptions::PyTypeError::new_err("len() of a 0-d tensor");
        tensor.dims().first().copied().ok_or_else(none)
    }
}
