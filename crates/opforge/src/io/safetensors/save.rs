use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};

use super::{FORMAT, to_file_dtype};
use crate::io::bytes::write_elements;
use crate::io::replace::replace;
use crate::{Error, Result, Tensor};

/// Writes tensors to a file, which is replaced as a whole: it may be one that the tensors were loaded from.
///
/// # Errors
/// [`Error::Io`]; complex numbers in f64, which the format lacks; the errors of kernels that compute the tensors.
pub fn save<K: AsRef<str> + Ord + std::fmt::Display, P: AsRef<Path>>(
    tensors: &HashMap<K, Tensor>,
    filename: P,
) -> Result<()> {
    write(tensors.iter().map(|(name, tensor)| (name.as_ref(), tensor)).collect(), filename.as_ref())
}

impl Tensor {
    /// Writes this tensor to a `.safetensors` file of its own.
    ///
    /// # Errors
    /// As [`save`].
    pub fn save_safetensors<P: AsRef<Path>>(&self, name: &str, filename: P) -> Result<()> {
        write(vec![(name, self)], filename.as_ref())
    }
}

/// Writes the widest elements first, so that all are aligned; beyond that by name, so that equal tensors give equal files.
fn write(mut tensors: Vec<(&str, &Tensor)>, path: &Path) -> Result<()> {
    tensors.sort_by_key(|&(name, tensor)| (std::cmp::Reverse(tensor.dtype().size_in_bytes()), name));
    let mut start = 0;
    let mut infos = Vec::with_capacity(tensors.len());
    for &(name, tensor) in &tensors {
        if name == "__metadata__" {
            return Err(Error::value("save_safetensors", "name", name, "a name that the format does not use itself"));
        }
        let end = start + tensor.elem_count() * tensor.dtype().size_in_bytes();
        let shape = tensor.dims().to_vec();
        infos.push((
            name.to_owned(),
            TensorInfo { dtype: to_file_dtype(tensor.dtype())?, shape, data_offsets: (start, end) },
        ));
        start = end;
    }
    let metadata = Metadata::new(None, infos).map_err(|error| Error::format(FORMAT, error))?;
    let mut header = serde_json::to_vec(&metadata).map_err(Error::wrap)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    replace(path, |out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        tensors.iter().try_for_each(|(_, tensor)| write_elements(tensor, out))
    })
}
