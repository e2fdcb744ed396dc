//! `.safetensors` files (and numpy's, to read) for the module `opforge.serialization`, which turns nested containers into named tensors and a text.

use std::collections::HashMap;
use std::path::PathBuf;

use opforge::safetensors::{SliceSafetensors, load_with_metadata, save_with_metadata, to_bytes};
use opforge::{Device, FileAccess, Tensor};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};

use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// Writes named tensors and texts to a file, which is replaced as a whole; without a path, returns the file's bytes.
#[pyfunction]
pub fn _save_safetensors<'py>(
    py: Python<'py>,
    tensors: HashMap<String, Py<PyTensor>>,
    metadata: Texts,
    path: Option<PathBuf>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let tensors: HashMap<String, Tensor> =
        tensors.into_iter().map(|(name, tensor)| (name, tensor.get().tensor(py).detach())).collect();
    match path {
        Some(path) => {
            py.detach(|| save_with_metadata(&tensors, metadata, path)).or_raise(py)?;
            Ok(None)
        }
        None => {
            let bytes = py.detach(|| to_bytes(&tensors, metadata)).or_raise(py)?;
            Ok(Some(PyBytes::new(py, &bytes)))
        }
    }
}

/// Texts about a whole file, by name.
type Texts = HashMap<String, String>;

/// Tensors by name, and texts.
type Content<'py> = (Bound<'py, PyDict>, Texts);

fn content<'py>(py: Python<'py>, tensors: Vec<(String, Tensor)>, metadata: Texts) -> PyResult<Content<'py>> {
    let objects = tensors.into_iter().map(|(name, tensor)| (name, PyTensor::from(tensor)));
    Ok((objects.into_py_dict(py)?, metadata))
}

/// All tensors of a file's bytes, and its texts.
fn read(bytes: &[u8]) -> opforge::Result<(Vec<(String, Tensor)>, Texts)> {
    let file = SliceSafetensors::new(bytes)?;
    let load = |name: &str| Ok((name.to_owned(), file.load(name, &Device::Cpu)?));
    let tensors = file.names().into_iter().map(load).collect::<opforge::Result<_>>()?;
    Ok((tensors, file.metadata().clone()))
}

/// Copies of all tensors in a file, and its texts.
#[pyfunction]
pub fn _load_safetensors(py: Python<'_>, path: PathBuf) -> PyResult<Content<'_>> {
    let found = py.detach(|| load_with_metadata(path, &Device::Cpu, FileAccess::Copy)).or_raise(py)?;
    content(py, found.tensors, found.metadata)
}

/// As [`_load_safetensors`], from a file's bytes.
#[pyfunction]
pub fn _load_safetensors_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Content<'py>> {
    let (tensors, metadata) = read(bytes).or_raise(py)?;
    content(py, tensors, metadata)
}

/// As [`_load_safetensors`], with tensors that show the file where its bytes are aligned, and copy pages that are written to.
#[pyfunction]
pub fn _map_safetensors(py: Python<'_>, path: PathBuf) -> PyResult<Content<'_>> {
    let found = load_with_metadata(path, &Device::Cpu, FileAccess::Map).or_raise(py)?;
    content(py, found.tensors, found.metadata)
}

/// The tensor in the bytes of a `.npy` file.
#[pyfunction]
pub fn _load_npy_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    PyTensor::wrap(py, Tensor::from_npy_bytes(bytes).or_raise(py)?)
}

/// As [`_load_npy_bytes`] from a file, which it shows where its bytes are aligned, and whose pages it copies when they are written to.
#[pyfunction]
pub fn _map_npy(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    PyTensor::wrap(py, Tensor::read_npy_with(path, FileAccess::Map).or_raise(py)?)
}

/// The tensors in a `.npz` archive by name.
#[pyfunction]
pub fn _load_npz(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let tensors = py.detach(|| Tensor::read_npz(path)).or_raise(py)?;
    Ok(content(py, tensors, Texts::new())?.0)
}
