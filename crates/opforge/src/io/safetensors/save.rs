//! Writing safetensors files.

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
    Output::new(tensors.iter().map(|(name, tensor)| (name.as_ref(), tensor)).collect(), None)?.save(filename.as_ref())
}

/// As [`save`], with texts about the whole in the header: see [`SliceSafetensors::metadata`](super::SliceSafetensors::metadata).
///
/// # Errors
/// As [`save`].
pub fn save_with_metadata<P: AsRef<Path>>(
    tensors: &HashMap<String, Tensor>,
    metadata: HashMap<String, String>,
    filename: P,
) -> Result<()> {
    let tensors = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
    Output::new(tensors.collect(), Some(metadata))?.save(filename.as_ref())
}

/// The bytes of the file that [`save_with_metadata`] writes.
///
/// # Errors
/// As [`save`].
pub fn to_bytes(tensors: &HashMap<String, Tensor>, metadata: HashMap<String, String>) -> Result<Vec<u8>> {
    let tensors = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
    let output = Output::new(tensors.collect(), Some(metadata))?;
    let nbytes = output.header.len().saturating_add(output.nbytes).saturating_add(8);
    opforge_runtime::alloc::check_available(nbytes)?;
    let mut bytes = Vec::with_capacity(nbytes);
    output.write(&mut bytes)?;
    Ok(bytes)
}

impl Tensor {
    /// Writes this tensor to a `.safetensors` file of its own.
    ///
    /// # Errors
    /// As [`save`].
    pub fn save_safetensors<P: AsRef<Path>>(&self, name: &str, filename: P) -> Result<()> {
        Output::new(vec![(name, self)], None)?.save(filename.as_ref())
    }
}

/// A file to be written.
struct Output<'a> {
    /// In the order of their bytes: the widest elements first, so that all are aligned; beyond that by name, so that equal tensors give equal
    /// files.
    tensors: Vec<(&'a str, &'a Tensor)>,
    header: Vec<u8>,
    /// The bytes of all elements.
    nbytes: usize,
}

impl<'a> Output<'a> {
    fn new(mut tensors: Vec<(&'a str, &'a Tensor)>, metadata: Option<HashMap<String, String>>) -> Result<Self> {
        tensors.sort_by_key(|&(name, tensor)| (std::cmp::Reverse(tensor.dtype().size_in_bytes()), name));
        let mut start = 0;
        let mut infos = Vec::with_capacity(tensors.len());
        for &(name, tensor) in &tensors {
            if name == "__metadata__" {
                let accepted = "a name that the format does not use itself";
                return Err(Error::value("save_safetensors", "name", name, accepted));
            }
            let end = start + tensor.elem_count() * tensor.dtype().size_in_bytes();
            let (dtype, shape) = (to_file_dtype(tensor.dtype())?, tensor.dims().to_vec());
            infos.push((name.to_owned(), TensorInfo { dtype, shape, data_offsets: (start, end) }));
            start = end;
        }
        let metadata = Metadata::new(metadata, infos).map_err(|error| Error::format(FORMAT, error))?;
        let mut header = serde_json::to_vec(&metadata).map_err(Error::wrap)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        Ok(Output { tensors, header, nbytes: start })
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        out.write_all(&(self.header.len() as u64).to_le_bytes())?;
        out.write_all(&self.header)?;
        self.tensors.iter().try_for_each(|(_, tensor)| write_elements(tensor, out))
    }

    fn save(&self, path: &Path) -> Result<()> {
        replace(path, |out| self.write(out))
    }
}
