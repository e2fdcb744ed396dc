//! PyTorch's checkpoints for the module `opforge._files.checkpoint`: the objects of a pickle as a list of tuples, each of a tag and what it holds, where other
//! objects are named by their places in the list.

use std::path::PathBuf;

use opforge::pickle::{Checkpoint, Encoded, Id, Map, Object, to_bytes};
use opforge::{Device, Error, FileAccess};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::dtype;
use crate::error::{OrRaise, raise};
use crate::tensor::PyTensor;

/// Mappings by Python's names.
const MAPS: [(Map, &str); 3] = [(Map::Dict, "dict"), (Map::Ordered, "OrderedDict"), (Map::Counter, "Counter")];

/// The objects of a file, or of its bytes, and the place of that which holds all others.
#[pyfunction]
pub fn _read_checkpoint<'py>(
    py: Python<'py>,
    path: Option<PathBuf>,
    bytes: Option<Vec<u8>>,
    mmap: bool,
) -> PyResult<(Id, Bound<'py, PyList>)> {
    let access = if mmap { FileAccess::Map } else { FileAccess::Copy };
    let read = || match path {
        Some(path) => Checkpoint::open(path, access),
        None => Checkpoint::from_bytes(bytes.unwrap_or_default()),
    };
    let mut checkpoint = py.detach(read).or_raise(py)?;
    let (root, count) = (checkpoint.pickle().root(), checkpoint.pickle().len());
    let objects = PyList::empty(py);
    for id in 0..count {
        let object = checkpoint.pickle().object(id).clone();
        objects.append(described(py, &mut checkpoint, object)?)?;
    }
    Ok((root, objects))
}

fn described<'py>(py: Python<'py>, checkpoint: &mut Checkpoint, object: Object) -> PyResult<Bound<'py, PyTuple>> {
    let value = |value: Py<PyAny>| ("value", value).into_pyobject(py);
    match object {
        Object::None => value(py.None()),
        Object::Bool(flag) => value(flag.into_py_any(py)?),
        Object::Int(n) => value(n.into_py_any(py)?),
        Object::Long(bytes) => ("long", PyBytes::new(py, &bytes)).into_pyobject(py),
        Object::Float(x) => value(x.into_py_any(py)?),
        Object::Complex(re, im) => ("complex", re, im).into_pyobject(py),
        Object::Text(text) => value(text.into_py_any(py)?),
        Object::Bytes(bytes) => value(PyBytes::new(py, &bytes).into_any().unbind()),
        Object::List(items) => ("list", items).into_pyobject(py),
        Object::Tuple(items) => ("tuple", items).into_pyobject(py),
        Object::Set(items) => ("set", items).into_pyobject(py),
        Object::FrozenSet(items) => ("frozenset", items).into_pyobject(py),
        Object::Map { map, entries, attributes } => {
            let name = MAPS.iter().find(|(known, _)| *known == map).map_or("dict", |(_, name)| name);
            (name, entries, attributes).into_pyobject(py)
        }
        Object::Size(sizes) => ("Size", sizes).into_pyobject(py),
        Object::DType(dtype) => value(dtype::object(py, dtype)?.into_any()),
        Object::Device(name) => ("device", name).into_pyobject(py),
        Object::Name(module, name) => ("name", format!("{module}.{name}")).into_pyobject(py),
        Object::Storage(_) => ("storage", py.None()).into_pyobject(py),
        Object::Tensor(stored) => {
            let tensor = py.detach(|| checkpoint.tensor(&stored, &Device::Cpu)).or_raise(py)?;
            let location = match checkpoint.pickle().object(stored.storage) {
                Object::Storage(name) => name.location.as_str(),
                _ => "cpu",
            };
            let (grad, is_parameter) = (stored.requires_grad, stored.is_parameter);
            ("tensor", PyTensor::wrap(py, tensor)?, grad, is_parameter, location).into_pyobject(py)
        }
        Object::Array { dtype, shape, fortran_order, bytes } => {
            ("array", dtype, shape, fortran_order, PyBytes::new(py, &bytes)).into_pyobject(py)
        }
        Object::ArrayDType(dtype) => ("name", format!("numpy.dtype {dtype}")).into_pyobject(py),
        Object::Meta { dtype, shape, stride, requires_grad } => {
            ("meta", dtype::object(py, dtype)?, shape, stride, requires_grad).into_pyobject(py)
        }
    }
}

/// Writes objects, described as [`_read_checkpoint`] does, to a file, which is replaced as a whole; without a path, returns the file's bytes.
#[pyfunction]
pub fn _write_checkpoint<'py>(
    py: Python<'py>,
    root: Id,
    objects: &Bound<'py, PyList>,
    path: Option<PathBuf>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut encoded = Encoded::default();
    let mut places = Vec::with_capacity(objects.len());
    // Every object gets a place first: containers may name what comes later.
    for _ in 0..objects.len() {
        places.push(encoded.add(Object::None));
    }
    for (object, &place) in objects.iter().zip(&places) {
        encode(py, &mut encoded, place, object.cast::<PyTuple>()?)?;
    }
    let root = *places.get(root).ok_or_else(|| raise(py, &Error::msg("an object that is not there")))?;
    match path {
        Some(path) => {
            py.detach(|| encoded.write(root, &path)).or_raise(py)?;
            Ok(None)
        }
        None => Ok(Some(PyBytes::new(py, &py.detach(|| to_bytes(encoded, root)).or_raise(py)?))),
    }
}

fn encode(py: Python<'_>, encoded: &mut Encoded, place: Id, object: &Bound<'_, PyTuple>) -> PyResult<()> {
    let (tag, content) = (object.get_item(0)?.extract::<String>()?, object.get_item(1)?);
    let made = match tag.as_str() {
        "value" => plain(py, &content)?,
        "long" => Object::Long(content.extract()?),
        "complex" => Object::Complex(content.extract()?, object.get_item(2)?.extract()?),
        "list" => Object::List(content.extract()?),
        "tuple" => Object::Tuple(content.extract()?),
        "set" => Object::Set(content.extract()?),
        "frozenset" => Object::FrozenSet(content.extract()?),
        "Size" => Object::Size(content.extract()?),
        "device" => Object::Device(content.extract()?),
        "tensor" => {
            let tensor = content.cast::<PyTensor>()?.get().tensor(py).detach();
            let (requires_grad, is_parameter) = (object.get_item(2)?.extract()?, object.get_item(3)?.extract()?);
            encoded.tensor(&tensor, requires_grad, is_parameter).or_raise(py)?
        }
        "array" => Object::Array {
            dtype: content.extract()?,
            shape: object.get_item(2)?.extract()?,
            fortran_order: object.get_item(3)?.extract()?,
            bytes: object.get_item(4)?.extract()?,
        },
        "meta" => {
            let dtype = content.cast::<dtype::PyDType>()?.get().0;
            let (shape, stride) = (object.get_item(2)?.extract()?, object.get_item(3)?.extract()?);
            Object::Meta { dtype, shape, stride, requires_grad: object.get_item(4)?.extract()? }
        }
        name => {
            let map = MAPS.iter().find(|(_, known)| *known == name).map(|(map, _)| *map);
            let map = map.ok_or_else(|| raise(py, &Error::msg(format!("an object of the kind {name}"))))?;
            Object::Map { map, entries: content.extract()?, attributes: object.get_item(2)?.extract()? }
        }
    };
    encoded.set(place, made);
    Ok(())
}

fn plain(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Object> {
    if value.is_none() {
        return Ok(Object::None);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Object::Bytes(bytes.as_bytes().to_owned()));
    }
    if let Some(dtype) = value.cast::<dtype::PyDType>().ok().map(|dtype| dtype.get().0) {
        return Ok(Object::DType(dtype));
    }
    let flag = value.extract::<bool>().map(Object::Bool);
    let number = || value.extract::<i64>().map(Object::Int).or_else(|_| value.extract::<f64>().map(Object::Float));
    let text = || value.extract::<String>().map(Object::Text);
    let unknown = |_| raise(py, &Error::msg("a value that has no form in a pickle"));
    flag.or_else(|_| text()).or_else(|_| number()).map_err(unknown)
}
