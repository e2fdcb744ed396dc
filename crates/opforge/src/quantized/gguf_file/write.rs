//! Writing files.

use std::io::{Seek, Write};

use super::value::{Value, write_text};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, MAGIC, bad, number_of_type};
use crate::Result;
use crate::quantized::QTensor;

/// The version that is written.
const VERSION: u32 = 3;

/// Writes values and tensors, in their order, at the writer's position. Tensors are aligned as the value `general.alignment` says, else to
/// [`DEFAULT_ALIGNMENT`].
///
/// # Errors
/// [`Error::Io`](crate::Error::Io); [`Error::Format`](crate::Error::Format) for lists of several kinds of values, and an alignment of 0.
pub fn write<W: Seek + Write>(w: &mut W, metadata: &[(&str, &Value)], tensors: &[(&str, &QTensor)]) -> Result<()> {
    let alignment = match metadata.iter().find(|(name, _)| *name == ALIGNMENT_KEY) {
        None => DEFAULT_ALIGNMENT,
        Some((_, value)) => value.to_u64()?,
    };
    if alignment == 0 {
        return Err(bad("alignment 0"));
    }
    let header = header(metadata, tensors, alignment)?;
    w.write_all(&header)?;
    pad(w, header.len() as u64, alignment)?;
    for (_, tensor) in tensors {
        let data = tensor.data()?;
        w.write_all(&data)?;
        pad(w, data.len() as u64, alignment)?;
    }
    Ok(())
}

/// All that comes before the tensors.
fn header(metadata: &[(&str, &Value)], tensors: &[(&str, &QTensor)], alignment: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(tensors.len() as u64).to_le_bytes());
    out.extend_from_slice(&(metadata.len() as u64).to_le_bytes());
    for (name, value) in metadata {
        write_text(name, &mut out)?;
        out.extend_from_slice(&value.value_type().number().to_le_bytes());
        value.write(&mut out)?;
    }
    let mut offset = 0u64;
    for (name, tensor) in tensors {
        write_text(name, &mut out)?;
        out.extend_from_slice(&(tensor.rank() as u32).to_le_bytes());
        for &dim in tensor.shape().dims().iter().rev() {
            out.extend_from_slice(&(dim as u64).to_le_bytes());
        }
        out.extend_from_slice(&number_of_type(tensor.dtype()).to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        offset += (tensor.storage_size_in_bytes() as u64).next_multiple_of(alignment);
    }
    Ok(out)
}

/// Zeros up to the next multiple of the alignment.
fn pad(w: &mut impl Write, written: u64, alignment: u64) -> Result<()> {
    let missing = written.next_multiple_of(alignment) - written;
    Ok(std::io::copy(&mut std::io::Read::take(std::io::repeat(0), missing), w).map(drop)?)
}
