//! Layers whose weight is quantized.

use std::sync::Arc;

use super::{GgmlDType, QTensor};
use crate::functional::linear;
use crate::{DType, Module, Result, Tensor};

/// A product with the transpose of a matrix `[n, k]`, which is quantized, or floats.
#[derive(Debug, Clone)]
pub enum QMatMul {
    /// Products of integers: inputs are quantized to 8 bits, block by block.
    QTensor(Arc<QTensor>),
    /// Products of floats.
    Tensor(Tensor),
    /// Products in f16; inputs of other dtypes are converted, and results converted back.
    TensorF16(Tensor),
}

impl QMatMul {
    /// With this weight: dequantized once if its elements are floats.
    ///
    /// # Errors
    /// As [`QTensor::dequantize`].
    pub fn from_arc(qtensor: Arc<QTensor>) -> Result<Self> {
        match qtensor.dtype() {
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => {
                Ok(QMatMul::Tensor(qtensor.dequantize(&qtensor.device())?))
            }
            _ => Ok(QMatMul::QTensor(qtensor)),
        }
    }

    /// As [`QMatMul::from_arc`].
    ///
    /// # Errors
    /// As [`QTensor::dequantize`].
    pub fn from_qtensor(qtensor: QTensor) -> Result<Self> {
        Self::from_arc(Arc::new(qtensor))
    }

    /// The weight in f16.
    ///
    /// # Errors
    /// As [`QTensor::dequantize`].
    pub fn dequantize_f16(&self) -> Result<Tensor> {
        match self {
            QMatMul::QTensor(weight) => weight.dequantize_f16(&weight.device()),
            QMatMul::Tensor(weight) => weight.to_dtype(DType::F16),
            QMatMul::TensorF16(weight) => Ok(weight.clone()),
        }
    }

    /// The product in f16, of the weight in f16; the result has the input's dtype.
    ///
    /// # Errors
    /// For shapes that do not go together.
    pub fn forward_via_f16(&self, xs: &Tensor) -> Result<Tensor> {
        linear(&xs.to_dtype(DType::F16)?, &self.dequantize_f16()?, None)?.to_dtype(xs.dtype())
    }

    /// The rows of the weight at integer indices: see [`QTensor::embedding`].
    ///
    /// # Errors
    /// As [`QTensor::embedding`].
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        match self {
            QMatMul::QTensor(weight) => weight.embedding(ids),
            QMatMul::Tensor(weight) | QMatMul::TensorF16(weight) => {
                let shape: crate::Shape = ids.dims().iter().chain(&weight.dims()[1..]).copied().collect();
                weight.index_select(&ids.flatten_all()?, 0)?.reshape(shape)
            }
        }
    }
}

impl Module for QMatMul {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match self {
            QMatMul::QTensor(weight) => weight.transposed_product(xs),
            QMatMul::Tensor(weight) => linear(xs, &weight.to_dtype(xs.dtype())?, None),
            QMatMul::TensorF16(_) => self.forward_via_f16(xs),
        }
    }
}
