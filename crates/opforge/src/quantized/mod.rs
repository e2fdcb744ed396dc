//! Tensors of a few bits an element, as ggml has them: made from floats, read from gguf files, multiplied with.
//!
//! ```
//! use opforge::quantized::{GgmlDType, QMatMul, QTensor};
//! use opforge::{Device, Module, Tensor};
//! # fn main() -> opforge::Result<()> {
//! let weight = Tensor::randn(0f32, 1.0, (8, 256), &Device::Cpu)?;
//! let quantized = QTensor::quantize(&weight, GgmlDType::Q4K)?;
//! assert_eq!(quantized.storage_size_in_bytes(), 8 * 144);
//! let y = QMatMul::from_qtensor(quantized)?.forward(&Tensor::ones((2, 256), opforge::DType::F32, &Device::Cpu)?)?;
//! assert_eq!(y.dims(), [2, 8]);
//! # Ok(())
//! # }
//! ```

pub mod ggml_file;
pub mod gguf_file;
pub mod imatrix_file;
mod matmul;
mod operators;
mod tensor;

pub use matmul::QMatMul;
pub use opforge_cpu::quantized::GgmlDType;
pub use tensor::{QStorage, QTensor};
