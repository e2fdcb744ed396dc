//! Files in the format gguf: values with names, then tensors.
//!
//! The format is that of ggml's documentation (`docs/gguf.md`), versions 1 to 3, little-endian. A file's lengths and counts are claims, held against
//! its size before anything is read.
//!
//! ```
//! use opforge::quantized::gguf_file::{self, Content, Value};
//! use opforge::quantized::{GgmlDType, QTensor};
//! use opforge::{DType, Device, Tensor};
//! # fn main() -> opforge::Result<()> {
//! let weight = QTensor::quantize(&Tensor::ones((2, 32), DType::F32, &Device::Cpu)?, GgmlDType::Q8_0)?;
//! let mut file = std::io::Cursor::new(Vec::new());
//! gguf_file::write(&mut file, &[("general.name", &Value::String("ones".into()))], &[("weight", &weight)])?;
//!
//! file.set_position(0);
//! let content = Content::read(&mut file)?;
//! assert_eq!(content.metadata["general.name"].to_string()?, "ones");
//! assert_eq!(content.tensor(&mut file, "weight", &Device::Cpu)?.shape().dims(), [2, 32]);
//! # Ok(())
//! # }
//! ```

mod content;
pub(super) mod input;
mod value;
mod write;

use super::GgmlDType;
use crate::{Error, Result};

pub use content::{Content, TensorInfo, VersionedMagic};
pub use value::{Value, ValueType};
pub use write::write;

/// Tensors begin at multiples of so many bytes, where a file does not say otherwise.
pub const DEFAULT_ALIGNMENT: u64 = 32;

const FORMAT: &str = "gguf";
const MAGIC: [u8; 4] = *b"GGUF";
/// The name of the value that says the alignment.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The numbers of the types in files.
const TYPES: [(GgmlDType, u32); 15] = [
    (GgmlDType::F32, 0),
    (GgmlDType::F16, 1),
    (GgmlDType::Q4_0, 2),
    (GgmlDType::Q4_1, 3),
    (GgmlDType::Q5_0, 6),
    (GgmlDType::Q5_1, 7),
    (GgmlDType::Q8_0, 8),
    (GgmlDType::Q8_1, 9),
    (GgmlDType::Q2K, 10),
    (GgmlDType::Q3K, 11),
    (GgmlDType::Q4K, 12),
    (GgmlDType::Q5K, 13),
    (GgmlDType::Q6K, 14),
    (GgmlDType::Q8K, 15),
    (GgmlDType::BF16, 30),
];

fn bad(message: impl std::fmt::Display) -> Error {
    Error::format(FORMAT, message)
}

pub(super) fn type_of_number(number: u32) -> Result<GgmlDType> {
    let known = TYPES.into_iter().find(|&(_, known)| known == number);
    known.map(|(dtype, _)| dtype).ok_or_else(|| bad(format!("type {number} of elements is not supported")))
}

fn number_of_type(dtype: GgmlDType) -> u32 {
    TYPES.into_iter().find(|&(known, _)| known == dtype).map_or(0, |(_, number)| number)
}
