//! Python objects as values.

use opforge::declaration::{Type, Value};
use opforge::functional::default_dtype;
use opforge::{DType, Scalar, Tensor};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::device;
use crate::dtype;
use crate::generator::PyGenerator;
use crate::tensor::PyTensor;

pub type Object<'a, 'py> = Borrowed<'a, 'py, PyAny>;

/// The object as a value of a type, if it is one.
#[inline]
pub fn value(object: Object<'_, '_>, ty: Type) -> Option<Value> {
    match ty {
        Type::Tensor => tensor(object).map(Value::Tensor),
        Type::Operand => tensor(object).map(Value::Tensor).or_else(|| scalar(object).map(Value::Scalar)),
        Type::Scalar => scalar(object).or_else(|| element(object)).map(Value::Scalar),
        Type::Int => int(object).map(|i| Value::Scalar(Scalar::Int(i))),
        Type::Float => float(object).map(|x| Value::Scalar(Scalar::Float(x))),
        Type::Bool => boolean(object).map(|b| Value::Scalar(Scalar::Bool(b))),
        Type::Ints => ints(object).map(Value::Ints),
        Type::Floats => list(object, float).map(Value::Floats),
        Type::Tensors => list(object, tensor).map(Value::Tensors),
        Type::OptionalTensors => list(object, optional_tensor).map(Value::OptionalTensors),
        Type::DType => dtype::extract(&object).map(Value::DType),
        Type::Device => device(object).map(Value::Device),
        Type::Generator => object.cast::<PyGenerator>().ok().map(|g| Value::Generator(g.get().0.clone())),
        Type::Text => object.cast::<PyString>().ok().map(|s| Value::Text(s.to_string())),
        Type::Optional(_) if object.is_none() => Some(Value::None),
        Type::Optional(inner) => value(object, *inner),
    }
}

/// Whether an object is a tensor.
#[inline]
pub fn is_tensor(object: Object<'_, '_>) -> bool {
    object.cast::<PyTensor>().is_ok()
}

#[inline]
pub fn tensor(object: Object<'_, '_>) -> Option<Tensor> {
    let tensor = object.cast::<PyTensor>().ok()?;
    Some(tensor.get().tensor(object.py()))
}

fn optional_tensor(object: Object<'_, '_>) -> Option<Option<Tensor>> {
    if object.is_none() { Some(None) } else { tensor(object).map(Some) }
}

/// A number: Python's, numpy's.
#[inline]
pub fn scalar(object: Object<'_, '_>) -> Option<Scalar> {
    if object.is_exact_instance_of::<PyFloat>() {
        return object.extract::<f64>().ok().map(Scalar::Float);
    }
    if object.is_exact_instance_of::<PyInt>() {
        return whole(object);
    }
    if let Ok(b) = object.cast::<PyBool>() {
        return Some(Scalar::Bool(b.is_true()));
    }
    if let Ok(c) = object.cast::<PyComplex>() {
        let part = |name: &str| c.getattr(name).and_then(|x| x.extract::<f64>()).ok();
        return Some(Scalar::Complex(part("real")?, part("imag")?));
    }
    if object.cast::<PyFloat>().is_ok() {
        return object.extract::<f64>().ok().map(Scalar::Float);
    }
    if object.cast::<PyInt>().is_ok() {
        return whole(object);
    }
    numpy_scalar(object)
}

fn whole(object: Object<'_, '_>) -> Option<Scalar> {
    let small = object.extract::<i64>().ok().map(Scalar::Int);
    small.or_else(|| object.extract::<u64>().ok().map(Scalar::UInt))
}

/// A scalar of numpy's, known by its type's module and kind.
fn numpy_scalar(object: Object<'_, '_>) -> Option<Scalar> {
    let module = object.get_type().module().ok()?;
    if module.to_str().ok()? != "numpy" || object.get_type().name().ok()?.to_str().ok()? == "ndarray" {
        return None;
    }
    let item = object.call_method0("item").ok()?;
    if item.is_instance(&object.get_type()).ok()? { None } else { scalar(item.as_borrowed()) }
}

/// The one element of a tensor without dimensions, as a number.
fn element(object: Object<'_, '_>) -> Option<Scalar> {
    let tensor = tensor(object).filter(|t| t.rank() == 0 && !t.requires_grad())?;
    crate::tensor::item(object.py(), &tensor).ok()
}

/// Whether an object is a whole number, as sizes are.
pub fn is_index(object: Object<'_, '_>) -> bool {
    object.cast::<PyInt>().is_ok() || int(object).is_some()
}

/// A whole number: an int, a numpy integer, a tensor of one integer.
#[inline]
pub fn int(object: Object<'_, '_>) -> Option<i64> {
    // True is a truth value here, though Python has it as an int too.
    if object.cast::<PyBool>().is_ok() {
        return None;
    }
    if object.cast::<PyInt>().is_ok() {
        return object.extract::<i64>().ok();
    }
    if object.cast::<PyFloat>().is_ok() {
        return None;
    }
    match numpy_scalar(object).or_else(|| element(object))? {
        Scalar::Int(i) => Some(i),
        Scalar::UInt(u) => i64::try_from(u).ok(),
        Scalar::Bool(b) => Some(i64::from(b)),
        Scalar::Float(_) | Scalar::Complex(..) => None,
    }
}

fn float(object: Object<'_, '_>) -> Option<f64> {
    match scalar(object).or_else(|| element(object))? {
        Scalar::Complex(..) => None,
        number => Some(number.to_f64()),
    }
}

fn boolean(object: Object<'_, '_>) -> Option<bool> {
    if let Ok(b) = object.cast::<PyBool>() {
        return Some(b.is_true());
    }
    match numpy_scalar(object)? {
        Scalar::Bool(b) => Some(b),
        _ => None,
    }
}

fn ints(object: Object<'_, '_>) -> Option<Vec<i64>> {
    if object.cast::<PyTuple>().is_ok() || object.cast::<PyList>().is_ok() {
        return list(object, int);
    }
    int(object).map(|i| vec![i])
}

fn list<T>(object: Object<'_, '_>, each: impl Fn(Object<'_, '_>) -> Option<T>) -> Option<Vec<T>> {
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter().map(|item| each(item.as_borrowed())).collect();
    }
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().map(|item| each(item.as_borrowed())).collect();
    }
    if object.cast::<PyString>().is_ok() || object.cast::<PyTensor>().is_ok() || !object.hasattr("__len__").ok()? {
        return None;
    }
    object.try_iter().ok()?.map(|item| each(item.ok()?.as_borrowed())).collect()
}

/// A device that there is, or its name.
fn device(object: Object<'_, '_>) -> Option<opforge::Device> {
    device::named(object)?.ok()
}

/// The dtype that a number has as a tensor of its own.
pub fn natural_dtype(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) => DType::I64,
        Scalar::UInt(_) => DType::U64,
        Scalar::Float(_) => default_dtype(),
        Scalar::Complex(..) if default_dtype() == DType::F64 => DType::C128,
        Scalar::Complex(..) => DType::C64,
    }
}
