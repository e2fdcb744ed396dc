//! Elements as the bytes that files hold.

use std::io::Write;
use std::ops::Range;

use opforge_runtime::{Storage, vm};

use super::access::Source;
use crate::tensor::tracer;
use crate::{DType, Device, Error, Meta, Result, Shape, Tensor};

/// What a file says about some of its bytes.
pub(super) struct Claim {
    pub dtype: DType,
    pub shape: Shape,
    /// Whether the bytes of each number are in the other order than this machine's.
    pub swapped: bool,
}

impl Claim {
    /// The size in bytes, or the error that the shape is impossible.
    pub fn nbytes(&self, format: &'static str) -> Result<usize> {
        let size = self.dtype.size_in_bytes();
        self.shape
            .check(format, size)
            .map_err(|_| Error::format(format, format!("impossible shape {:?}", self.shape)))?;
        Ok(self.shape.elem_count() * size)
    }

    /// The tensor, over the file's own bytes where they can be used as they are. The range holds exactly the bytes claimed.
    pub fn tensor(
        self,
        source: Source<'_>,
        range: Range<usize>,
        device: &Device,
        format: &'static str,
    ) -> Result<Tensor> {
        let meta = Meta::contiguous(self.dtype, &self.shape);
        if device.is_meta() {
            return Ok(Tensor::from_parts(meta, Storage::new(*device, range.len())?));
        }
        // Kernels rely on truth values of 0 and 1; a file may hold others.
        let direct = !self.swapped && self.dtype != DType::Bool;
        let storage = match source {
            Source::Mapped(file) if direct && is_aligned(file.bytes(range.clone()), self.dtype) => {
                file.storage(range)?
            }
            Source::Slice(bytes) if direct => Storage::from_bytes(&bytes[range])?,
            _ => {
                let storage = Storage::new(Device::Cpu, range.len())?;
                let mut into = vm::write(&storage)?;
                source.read(range.start, &mut into, format)?;
                self.normalize(&mut into);
                drop(into);
                storage
            }
        };
        Tensor::from_parts(meta, storage).to_device(device)
    }

    /// Turns bytes as the file has them into this machine's.
    pub fn normalize(&self, bytes: &mut [u8]) {
        if self.dtype == DType::Bool {
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        } else if self.swapped {
            bytes.chunks_exact_mut(part_size(self.dtype)).for_each(<[u8]>::reverse);
        }
    }
}

/// The size of the numbers whose bytes have an order: of complex numbers, each part.
fn part_size(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size_in_bytes() / 2 } else { dtype.size_in_bytes() }
}

fn is_aligned(bytes: &[u8], dtype: DType) -> bool {
    bytes.as_ptr().addr().is_multiple_of(dtype.size_in_bytes())
}

/// Writes a tensor's elements in row-major order, lowest byte first.
pub(super) fn write_elements(tensor: &Tensor, out: &mut impl Write) -> Result<()> {
    tracer::reads(tensor, false)?;
    let dense = crate::no_grad(|| tensor.detach().contiguous())?;
    let size = dense.dtype().size_in_bytes();
    let start = dense.layout().start_offset() * size;
    let guard = vm::read(dense.storage())?;
    let bytes = &guard[start..start + dense.elem_count() * size];
    if cfg!(target_endian = "big") {
        let claim = Claim { dtype: dense.dtype(), shape: dense.shape().clone(), swapped: true };
        let mut bytes = bytes.to_vec();
        claim.normalize(&mut bytes);
        return Ok(out.write_all(&bytes)?);
    }
    Ok(out.write_all(bytes)?)
}
