//! numpy's `.npy` and `.npz` files.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>, versions 1 to 3. Numbers in the other byte order and
//! arrays in Fortran's order are converted. Objects, which numpy would unpickle, are refused, and so are records and texts.

mod dict;
mod header;

use std::io::Write;
use std::path::Path;

use super::access::{Opened, Source};
use super::bytes::write_elements;
pub use super::npz::NpzTensors;
use super::replace::replace;
use crate::{Device, Error, FileAccess, Result, Tensor};
pub(super) use header::Header;

pub(super) const FORMAT: &str = "npy";

/// The longest header that is believed: numpy's own are shorter than 10,000 bytes.
pub(super) const MAX_HEADER: usize = 1 << 16;

/// The tensor of a whole file.
pub(super) fn parse(source: Source<'_>, device: &Device) -> Result<Tensor> {
    let len = source.len();
    let (start, length) = Header::extent(&source.part(0..len.min(12), FORMAT)?)?;
    let end = start.checked_add(length).filter(|&end| end <= len && length <= MAX_HEADER);
    let end = end.ok_or_else(|| Error::format(FORMAT, format!("a header of {length} bytes in a file of {len}")))?;
    let (header, start) = Header::parse(&source.part(0..end, FORMAT)?)?;
    let nbytes = header.claim.nbytes(FORMAT)?;
    let available = len - start;
    if nbytes > available {
        let message = format!("{nbytes} bytes of elements are announced, {available} are there");
        return Err(Error::format(FORMAT, message));
    }
    let fortran_order = header.fortran_order;
    let tensor = header.stored_claim().tensor(source, start..start + nbytes, device, FORMAT)?;
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
    /// The tensor in a `.npy` file: a copy, or, if the file is larger than 64 MiB, mapped into memory where its bytes can be used as they are. Then the
    /// file must not be changed as long as the tensor lives, as reads of one that was truncated end this process ([`FileAccess::Map`]), and the tensor
    /// cannot be changed in place. [`Tensor::read_npy_with`] has the choice.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for a bad header, missing elements, and arrays of objects, records or texts.
    pub fn read_npy<P: AsRef<Path>>(path: P) -> Result<Tensor> {
        Self::read_npy_with(path, FileAccess::Auto)
    }

    /// The tensor in a `.npy` file, copied or mapped.
    ///
    /// # Errors
    /// As [`Tensor::read_npy`].
    pub fn read_npy_with<P: AsRef<Path>>(path: P, access: FileAccess) -> Result<Tensor> {
        parse(Opened::new(path.as_ref(), access)?.source(), &Device::Cpu)
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
