//! Dtypes as Python objects.

use opforge::functional::default_dtype;
use opforge::{DType, Error};
use opforge_core::Kind;
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::error::{OrRaise, raise};

/// An argument that stands for a dtype.
pub struct AnyDType(pub DType);

impl<'py> FromPyObject<'_, 'py> for AnyDType {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = || PyTypeError::new_err(format!("{:?} is no dtype", &*value));
        extract(&value).map(AnyDType).ok_or_else(wrong)
    }
}

/// The type of a tensor's elements: `float32`, `int64`, `bool`, ..
#[pyclass(name = "dtype", module = "opforge", frozen, from_py_object)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PyDType(pub DType);

/// Other names that PyTorch has for dtypes.
const ALIASES: [(&str, DType); 10] = [
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("short", DType::I16),
    ("int", DType::I32),
    ("long", DType::I64),
    ("cfloat", DType::C64),
    ("cdouble", DType::C128),
    ("byte", DType::U8),
    ("char", DType::I8),
];

/// The one object for each dtype, in the order of [`DType::ALL`].
static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The object that stands for a dtype; there is one, so that `is` compares.
pub fn object(py: Python<'_>, dtype: DType) -> PyResult<Py<PyDType>> {
    let make = || DType::ALL.into_iter().map(|d| Py::new(py, PyDType(d))).collect::<PyResult<Vec<_>>>();
    Ok(OBJECTS.get_or_try_init(py, make)?[dtype as usize].clone_ref(py))
}

/// What stands for a dtype in Python: a dtype, its name, Python's own number types, a numpy dtype or scalar type.
pub fn extract(value: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(dtype) = value.cast::<PyDType>() {
        return Some(dtype.get().0);
    }
    if let Ok(class) = value.cast::<PyType>() {
        let name = class.name().ok()?;
        return match name.to_str().ok()? {
            "float" => Some(DType::F64),
            "complex" => Some(DType::C128),
            "int" => Some(DType::I64),
            "bool" => Some(DType::Bool),
            other => named(other),
        };
    }
    let is_numpy = value.get_type().module().is_ok_and(|m| m.to_str().is_ok_and(|m| m.starts_with("numpy")));
    let name = if is_numpy { value.getattr("name").ok()? } else { value.clone() };
    named(name.extract::<String>().ok()?.trim_start_matches("opforge."))
}

fn named(name: &str) -> Option<DType> {
    let long = DType::ALL.into_iter().find(|d| d.long_name() == name);
    long.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, dtype)| *dtype))
}

#[pymethods]
impl PyDType {
    #[new]
    fn new(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let unknown = || raise(py, &Error::dtype("dtype", "value", value, "the name of a dtype"));
        extract(value).map(PyDType).ok_or_else(unknown)
    }

    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size_in_bytes()
    }

    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.kind() == Kind::Float
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    #[getter]
    pub fn is_signed(&self) -> bool {
        !matches!(self.0, DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDType>().is_ok_and(|other| other.get() == self)
    }

    fn __hash__(&self) -> isize {
        self.0 as isize
    }

    fn __repr__(&self) -> String {
        format!("opforge.{}", self.0.long_name())
    }

    fn __reduce__(&self) -> &'static str {
        self.0.long_name()
    }
}

/// The dtype that Python's floats become.
#[pyfunction]
pub fn get_default_dtype(py: Python<'_>) -> PyResult<Py<PyDType>> {
    object(py, default_dtype())
}

/// Changes the dtype that Python's floats become: float16, bfloat16, float32 or float64.
#[pyfunction]
pub fn set_default_dtype(py: Python<'_>, d: &Bound<'_, PyAny>) -> PyResult<()> {
    let unknown = || raise(py, &Error::dtype("set_default_dtype", "d", d, "a floating-point dtype"));
    opforge::functional::set_default_dtype(extract(d).ok_or_else(unknown)?).or_raise(py)
}

/// Adds every dtype to the extension module, by each of its names.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let names = DType::ALL.into_iter().map(|d| (d.long_name(), d)).chain(ALIASES);
    names.into_iter().try_for_each(|(name, dtype)| module.add(name, object(module.py(), dtype)?))
}
