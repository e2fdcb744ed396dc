//! numpy's `.npy` and `.npz` files.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>, versions 1 to 3. Numbers in the other byte order and
//! arrays in Fortran's order are converted. Objects, which numpy would unpickle, are refused, and so are records and texts.

mod dict;
mod header;

use std::io::Write;
use std::path::Path;

use opforge_runtime::MappedFile;

use super::bytes::{Source, write_elements};
pub use super::npz::NpzTensors;
use super::replace::replace;
use crate::{Device, Error, Result, Tensor};
pub(super) use header::Header;

pub(super) const FORMAT: &str = "npy";

/// The tensor of a whole file's bytes.
pub(super) fn parse(source: Source<'_>, device: &Device) -> Result<Tensor> {
    let bytes = source.bytes();
    let (header, start) = Header::parse(bytes)?;
    let nbytes = header.claim.nbytes(FORMAT)?;
    let available = bytes.len() - start;
    if nbytes > available {
        let message = format!("{nbytes} bytes of elements are announced, {available} are there");
        return Err(Error::format(FORMAT, message));
    }
    let fortran_order = header.fortran_order;
    let tensor = header.stored_claim().tensor(source, start..start + nbytes, device)?;
    if fortran_order { reversed(&tensor)?.contiguous() } else { Ok(tensor) }
}

/// The dimensions in reverse order.
pub(super) fn reversed(tensor: &Tensor) -> Result<Tensor> {
    tensor.permute((0..tensor.rank()).rev().collect::<Vec<_>>())
}

/// Writes header and elements.
pub(super) fn write(tensor: &Tensor, out: &mut impl Write) -> Result<()> {
    out.write_all(&Header::text(tensor)?)?;
    write_elements(tensor, out)
}

impl Tensor {
    /// The tensor in a `.npy` file, mapped into memory where its bytes can be used as they are: the file must not be changed as long as the
    /// tensor lives (see [`MappedFile`]), and the tensor cannot be changed in place.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for a bad header, missing elements, and arrays of objects, records or texts.
    pub fn read_npy<P: AsRef<Path>>(path: P) -> Result<Tensor> {
        parse(Source::Mapped(&MappedFile::open(path)?), &Device::Cpu)
    }

    /// The tensor in the bytes of a `.npy` file.
    ///
    /// # Errors
    /// As [`Tensor::read_npy`].
    pub fn from_npy_bytes(bytes: &[u8]) -> Result<Tensor> {
        parse(Source::Slice(bytes), &Device::Cpu)
    }

    /// Writes a `.npy` file.
    ///
    /// # Errors
    /// [`Error::Io`]; bf16, which numpy lacks.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// # fn main() -> opforge::Result<()> {
    /// let path = std::env::temp_dir().join(format!("doc-{}.npy", std::process::id()));
    /// Tensor::new(&[1f32, 2.0], &Device::Cpu)?.write_npy(&path)?;
    /// assert_eq!(Tensor::read_npy(&path)?.to_vec1::<f32>()?, [1.0, 2.0]);
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_npy<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        replace(path.as_ref(), |out| write(self, out))
    }
}
