//! Questions about tensors and dtypes, whose answers are plain Python values.

use std::hash::{DefaultHasher, Hash, Hasher};

use opforge::functional::default_dtype;
use opforge::{DType, Error};
use opforge_core::{F8E4M3, F8E5M2, Kind, promote, scalar_type};
use pyo3::prelude::*;

use crate::binding;
use crate::dtype::{self, AnyDType, PyDType};
use crate::error::{OrRaise, raise};
use crate::tensor::{PyStorage, PyTensor, item};

/// Whether an object is a tensor.
#[pyfunction]
pub fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.cast::<PyTensor>().is_ok()
}

/// Whether an object is the memory of tensors.
#[pyfunction]
pub fn is_storage(obj: &Bound<'_, PyAny>) -> bool {
    obj.cast::<PyStorage>().is_ok()
}

/// Whether a tensor's dtype is one of floats.
#[pyfunction]
pub fn is_floating_point(input: &Bound<'_, PyTensor>) -> bool {
    PyTensor::of(input).dtype().kind() == Kind::Float
}

/// Whether a tensor's dtype is one of complex numbers.
#[pyfunction]
pub fn is_complex(input: &Bound<'_, PyTensor>) -> bool {
    PyTensor::of(input).dtype().is_complex()
}

/// Whether a tensor's one element differs from zero.
#[pyfunction]
pub fn is_nonzero(input: &Bound<'_, PyTensor>) -> PyResult<bool> {
    Ok(item(input.py(), &PyTensor::of(input))?.to_bool())
}

/// The number of a tensor's elements.
#[pyfunction]
pub fn numel(input: &Bound<'_, PyTensor>) -> usize {
    PyTensor::of(input).elem_count()
}

/// The dtypes of some operands, by their weight in promotion.
#[derive(Default)]
struct Operands {
    dims: Option<DType>,
    zero_dims: Option<DType>,
    number: Option<Kind>,
}

impl Operands {
    fn add(&mut self, operand: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = operand.py();
        if let Ok(tensor) = operand.cast::<PyTensor>() {
            let tensor = tensor.get().tensor(py);
            let group = if tensor.rank() > 0 { &mut self.dims } else { &mut self.zero_dims };
            let known = group.unwrap_or(tensor.dtype());
            *group = Some(promoted(py, "result_type", known, tensor.dtype(), promote(known, tensor.dtype()))?);
            return Ok(());
        }
        let Some(number) = binding::scalar(operand.as_borrowed()) else {
            let class = operand.get_type().name()?;
            return Err(raise(py, &Error::dtype("result_type", "operand", class, "a Tensor or a Number")));
        };
        self.number = self.number.max(Some(number.kind()));
        Ok(())
    }
}

/// What two dtypes promote to, if they do.
fn promoted(py: Python<'_>, op: &'static str, a: DType, b: DType, both: Option<DType>) -> PyResult<DType> {
    both.ok_or_else(|| raise(py, &Error::dtypes(op, a, b)))
}

/// The dtype that results of an operator on these two have: tensors or numbers.
#[pyfunction]
pub fn result_type(py: Python<'_>, tensor1: &Bound<'_, PyAny>, tensor2: &Bound<'_, PyAny>) -> PyResult<Py<PyDType>> {
    let mut operands = Operands::default();
    operands.add(tensor1)?;
    operands.add(tensor2)?;
    let Operands { dims, zero_dims, number } = operands;
    let default = default_dtype();
    let number_dtype = number.map(|kind| scalar_type(kind, default));
    let [a, b] = [dims.or(zero_dims), number_dtype.or(zero_dims)].map(|dtype| dtype.unwrap_or(default));
    let result = opforge_core::result_type(dims, zero_dims, number, default);
    dtype::object(py, promoted(py, "result_type", a, b, result)?)
}

/// The smallest dtype that both can be converted to.
#[pyfunction]
pub fn promote_types(py: Python<'_>, type1: AnyDType, type2: AnyDType) -> PyResult<Py<PyDType>> {
    let (a, b) = (type1.0, type2.0);
    dtype::object(py, promoted(py, "promote_types", a, b, promote(a, b))?)
}

/// Whether promotion converts one dtype to the other: never to a lower kind.
#[pyfunction]
pub fn can_cast(from_: AnyDType, to: AnyDType) -> bool {
    from_.0.kind() <= to.0.kind()
}

/// What a dtype of floats can hold; of complex numbers, what each part can.
#[pyclass(name = "finfo", module = "opforge", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct FloatInfo {
    bits: usize,
    /// The distance from 1 to the next number.
    eps: f64,
    max: f64,
    min: f64,
    /// The smallest positive number of full precision.
    tiny: f64,
    smallest_normal: f64,
    /// A power of ten whose multiples below 1 can be told apart.
    resolution: f64,
    dtype: &'static str,
}

#[pymethods]
impl FloatInfo {
    #[new]
    #[pyo3(signature = (r#type = None))]
    fn new(py: Python<'_>, r#type: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let dtype = dtype_or(py, "finfo", r#type, default_dtype())?;
        // eps, the largest number, the smallest of full precision, and the decimal digits that are kept.
        let ieee = |fraction: i32, exponent: i32, digits: u8| {
            let eps = 2f64.powi(-fraction);
            (eps, (2.0 - eps) * 2f64.powi(exponent), 2f64.powi(1 - exponent), digits)
        };
        let (eps, max, tiny, digits) = match dtype {
            DType::F8E4M3 => (F8E4M3::EPSILON.to_f64(), F8E4M3::MAX.to_f64(), F8E4M3::MIN_POSITIVE.to_f64(), 0),
            DType::F8E5M2 => (F8E5M2::EPSILON.to_f64(), F8E5M2::MAX.to_f64(), F8E5M2::MIN_POSITIVE.to_f64(), 0),
            DType::F16 => ieee(10, 15, 3),
            DType::BF16 => ieee(7, 127, 2),
            DType::F32 | DType::C64 => ieee(23, 127, 6),
            DType::F64 | DType::C128 => ieee(52, 1023, 15),
            other => {
                let accepted = "a dtype of floats or complex numbers; see iinfo";
                return Err(raise(py, &Error::dtype("finfo", "type", other, accepted)));
            }
        };
        let parts = if dtype.is_complex() { 2 } else { 1 };
        Ok(FloatInfo {
            bits: dtype.size_in_bytes() * 8 / parts,
            eps,
            max,
            min: -max,
            tiny,
            smallest_normal: tiny,
            resolution: format!("1e-{digits}").parse().unwrap_or(eps),
            dtype: dtype.long_name(),
        })
    }

    fn __hash__(&self) -> u64 {
        hash(self.dtype)
    }

    fn __repr__(&self) -> String {
        let FloatInfo { eps, max, min, tiny, smallest_normal, resolution, dtype, .. } = self;
        format!(
            "finfo(resolution={resolution:e}, min={min:.5e}, max={max:.5e}, eps={eps:.5e}, \
             smallest_normal={smallest_normal:.5e}, tiny={tiny:.5e}, dtype={dtype})"
        )
    }
}

/// What a dtype of integers can hold.
#[pyclass(name = "iinfo", module = "opforge", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct IntInfo {
    bits: usize,
    max: u64,
    min: i64,
    dtype: &'static str,
}

#[pymethods]
impl IntInfo {
    #[new]
    fn new(py: Python<'_>, r#type: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = dtype_or(py, "iinfo", Some(r#type), DType::I64)?;
        if !dtype.is_int() {
            return Err(raise(py, &Error::dtype("iinfo", "type", dtype, "a dtype of integers; see finfo")));
        }
        let bits = dtype.size_in_bytes() * 8;
        let (max, min) = if dtype.is_signed() {
            (u64::MAX >> (65 - bits), -1i64 << (bits - 1))
        } else {
            (u64::MAX >> (64 - bits), 0)
        };
        Ok(IntInfo { bits, max, min, dtype: dtype.long_name() })
    }

    fn __hash__(&self) -> u64 {
        hash(self.dtype)
    }

    fn __repr__(&self) -> String {
        format!("iinfo(min={}, max={}, dtype={})", self.min, self.max, self.dtype)
    }
}

/// The dtype's name tells these apart.
fn hash(dtype: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    dtype.hash(&mut hasher);
    hasher.finish()
}

fn dtype_or(py: Python<'_>, op: &'static str, given: Option<&Bound<'_, PyAny>>, default: DType) -> PyResult<DType> {
    let Some(given) = given else { return Ok(default) };
    dtype::extract(given).ok_or_else(|| Error::dtype(op, "type", given, "a dtype")).or_raise(py)
}
