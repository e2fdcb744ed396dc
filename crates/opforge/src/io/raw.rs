//! Tensors as bytes without a header: elements in row-major order, lowest byte first.

use std::io::Write;

use super::access::Source;
use super::bytes::{Claim, write_elements};
use crate::{DType, Device, Error, Result, Shape, Tensor};

const FORMAT: &str = "raw bytes";

impl Tensor {
    /// A tensor of the elements that bytes hold.
    ///
    /// # Errors
    /// [`Error::Format`] for another number of bytes than the shape has.
    ///
    /// ```
    /// # use opforge::{DType, Device, Tensor};
    /// let t = Tensor::from_raw_buffer(&[1, 0, 2, 1], DType::U16, &[2], &Device::Cpu)?;
    /// assert_eq!(t.to_vec1::<u16>()?, [1, 258]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn from_raw_buffer(data: &[u8], dtype: DType, shape: &[usize], device: &Device) -> Result<Tensor> {
        let claim = Claim { dtype, shape: Shape::from(shape), swapped: cfg!(target_endian = "big") };
        let expected = claim.nbytes(FORMAT)?;
        if data.len() != expected {
            return Err(Error::format(FORMAT, format!("{} bytes, where the shape has {expected}", data.len())));
        }
        claim.tensor(Source::Slice(data), 0..expected, device, FORMAT)
    }

    /// Writes the elements' bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_bytes<W: Write>(&self, out: &mut W) -> Result<()> {
        write_elements(self, out)
    }
}
