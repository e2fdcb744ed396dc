//! Quantized tensors.

use std::borrow::Cow;

use super::GgmlDType;
use super::operators::{dequantize, linear, quantize};
use crate::{D, DType, Device, Error, Result, Shape, Tensor};

/// The elements of a quantized tensor: blocks as bytes, or floats as they are.
#[derive(Debug, Clone)]
pub struct QStorage {
    data: Tensor,
    dtype: GgmlDType,
}

impl QStorage {
    /// From the bytes of whole blocks, lowest byte first.
    ///
    /// # Errors
    /// [`Error::Value`] for bytes that do not fill blocks.
    pub fn from_data(data: Cow<'_, [u8]>, device: &Device, dtype: GgmlDType) -> Result<Self> {
        let size = dtype.type_size();
        if !data.len().is_multiple_of(size) {
            return Err(Error::value("from_data", "data", data.len(), format!("a multiple of {size} bytes")));
        }
        let (to, len) = match dtype.float() {
            Some(float) => (float, data.len() / size),
            None => (DType::U8, data.len()),
        };
        Ok(QStorage { data: Tensor::from_raw_buffer(&data, to, &[len], device)?, dtype })
    }

    fn elem_count(&self) -> usize {
        match self.dtype.float() {
            Some(_) => self.data.elem_count(),
            None => self.data.elem_count() / self.dtype.type_size() * self.dtype.block_size(),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// Those of kernels that compute them.
    pub fn data(&self) -> Result<Cow<'_, [u8]>> {
        let mut bytes = Vec::new();
        self.data.write_bytes(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }
}

/// A tensor whose elements have a few bits each, in blocks along the last dimension: see [`GgmlDType`].
///
/// It is read by products ([`super::QMatMul`]) and [`QTensor::dequantize`]; it carries no gradient.
#[derive(Debug, Clone)]
pub struct QTensor {
    storage: QStorage,
    shape: Shape,
}

impl QTensor {
    /// A tensor of this shape over blocks.
    ///
    /// # Errors
    /// For a shape whose last dimension does not fill blocks, or that has another number of elements.
    pub fn new<S: Into<Shape>>(storage: QStorage, shape: S) -> Result<Self> {
        let shape = shape.into();
        check_rows("new", &shape, storage.dtype)?;
        if shape.elem_count() != storage.elem_count() {
            let accepted = format!("a shape of {} elements", storage.elem_count());
            return Err(Error::shape("new", "shape", format!("{shape:?}"), accepted));
        }
        Ok(QTensor { storage, shape })
    }

    /// The elements of a tensor, rounded to what blocks of a type hold. A block with anything that is not finite becomes NaN.
    ///
    /// # Errors
    /// For a last dimension that does not fill blocks, and complex numbers.
    pub fn quantize(src: &Tensor, dtype: GgmlDType) -> Result<Self> {
        check_rows("quantize", src.shape(), dtype)?;
        let src = src.detach();
        let data = match dtype.float() {
            Some(float) => src.to_dtype(float)?.flatten_all()?.contiguous()?,
            None => quantize(&src.to_dtype(DType::F32)?, dtype)?,
        };
        Ok(QTensor { storage: QStorage { data, dtype }, shape: src.shape().clone() })
    }

    /// As [`QTensor::quantize`], on another device.
    ///
    /// # Errors
    /// As [`QTensor::quantize`].
    pub fn quantize_onto(src: &Tensor, dtype: GgmlDType, device: &Device) -> Result<Self> {
        let mut made = Self::quantize(src, dtype)?;
        made.storage.data = made.storage.data.to_device(device)?;
        Ok(made)
    }

    /// How elements are stored.
    pub fn dtype(&self) -> GgmlDType {
        self.storage.dtype
    }

    /// Where they are.
    pub fn device(&self) -> Device {
        *self.storage.data.device()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The size in memory.
    pub fn storage_size_in_bytes(&self) -> usize {
        self.storage.data.elem_count() * self.storage.data.dtype().size_in_bytes()
    }

    /// The bytes of the blocks.
    ///
    /// # Errors
    /// Those of kernels that compute them.
    pub fn data(&self) -> Result<Cow<'_, [u8]>> {
        self.storage.data()
    }

    /// The elements in f32.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn dequantize(&self, device: &Device) -> Result<Tensor> {
        let QStorage { data, dtype } = &self.storage;
        let floats = match dtype.float() {
            Some(_) => data.to_dtype(DType::F32)?.reshape(&self.shape)?,
            None => dequantize(data, *dtype, self.shape.clone())?,
        };
        floats.to_device(device)
    }

    /// The elements in f16.
    ///
    /// # Errors
    /// As [`QTensor::dequantize`].
    pub fn dequantize_f16(&self, device: &Device) -> Result<Tensor> {
        self.dequantize(device)?.to_dtype(DType::F16)
    }

    /// The rows of a matrix at integer indices, in f32, each in place of its index.
    ///
    /// # Errors
    /// For tensors that are no matrices, and indices out of range.
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        let (rows, len) = self.shape.dims2()?;
        let QStorage { data, dtype } = &self.storage;
        let shape: Shape = ids.dims().iter().copied().chain([len]).collect();
        let bytes = data.reshape((rows, data.elem_count() / rows.max(1)))?.index_select(&ids.flatten_all()?, 0)?;
        match dtype.float() {
            Some(_) => bytes.to_dtype(DType::F32)?.reshape(shape),
            None => dequantize(&bytes.flatten_all()?, *dtype, shape),
        }
    }

    /// `xs`, `[.., k]`, times the transpose of this matrix `[n, k]`, with the gradient of `xs`.
    pub(super) fn transposed_product(&self, xs: &Tensor) -> Result<Tensor> {
        let (n, k) = self.shape.dims2()?;
        if xs.rank() == 0 || xs.dim(D::Minus1)? != k {
            return Err(Error::shapes(
                "quantized_linear",
                xs.shape(),
                &self.shape,
                "an input [.., k] and a weight [n, k]",
            ));
        }
        let QStorage { data, dtype } = &self.storage;
        let input = xs.to_dtype(DType::F32)?;
        let product = match dtype.float() {
            Some(_) => crate::functional::linear(&input, &self.dequantize(xs.device())?, None)?,
            None => linear(&input, data, *dtype, n)?,
        };
        product.to_dtype(xs.dtype())
    }
}

/// Fails unless rows fill blocks.
fn check_rows(op: &'static str, shape: &Shape, dtype: GgmlDType) -> Result<()> {
    let block = dtype.block_size();
    match shape.dims().last() {
        None if block > 1 => Err(Error::shape(op, "shape", "a scalar", format!("rank at least 1 for {dtype:?}"))),
        Some(last) if !last.is_multiple_of(block) => {
            let accepted = format!("a last dimension that is a multiple of {block}, the block of {dtype:?}");
            Err(Error::shape(op, "shape", format!("{shape:?}"), accepted))
        }
        _ => Ok(()),
    }
}
