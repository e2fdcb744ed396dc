//! Attention over heads, `softmax(q k^T scale + bias) v`, under the names of candle's kernels for the CPU.
//!
//! All are [`functional::scaled_dot_product_attention`](opforge::functional::scaled_dot_product_attention) of other shapes, with biases for what may be
//! seen: gradients flow, and any floating-point dtype and number of sequences is taken.
//!
//! ```
//! use opforge::{DType, Device, Tensor};
//! use opforge_nn::attention::{AttnMask, flash_attn};
//! # fn main() -> opforge::Result<()> {
//! let (q, kv) = (Tensor::rand(0f32, 1., (2, 5, 8, 16), &Device::Cpu)?, Tensor::rand(0f32, 1., (2, 7, 2, 16), &Device::Cpu)?);
//! // Five queries behind two earlier positions.
//! let out = flash_attn::<f32>(&q, &kv, &kv, 0.25, AttnMask::causal_with_offset(2), None, None)?;
//! assert_eq!(out.dims(), [2, 8, 5, 16]);
//! # Ok(())
//! # }
//! ```

mod bias;
mod dense;
mod packed;
mod scores;

pub use dense::flash_attn;
pub use packed::{flash_attn_varlen_cpu, flash_attn_varlen_unfused};
pub(crate) use scores::{Scores, attend, causal_mask};

use opforge::Tensor;

/// What queries may see.
#[derive(Debug, Clone, Default)]
pub enum AttnMask {
    /// Everything.
    #[default]
    None,
    /// Query `i` sees keys up to `i + kv_offset`.
    Causal {
        /// How many keys come before that of the first query.
        kv_offset: usize,
    },
    /// What is added to the scores, or truth values of what is seen: `[length, keys]`, or anything that broadcasts to the scores.
    Mask(Tensor),
}

impl AttnMask {
    /// Query `i` sees keys up to `i`.
    pub fn causal() -> Self {
        AttnMask::causal_with_offset(0)
    }

    /// Query `i` sees keys up to `i + kv_offset`.
    pub fn causal_with_offset(kv_offset: usize) -> Self {
        AttnMask::Causal { kv_offset }
    }

    /// Whether later keys are hidden.
    pub fn is_causal(&self) -> bool {
        matches!(self, AttnMask::Causal { .. })
    }

    /// How many keys come before that of the first query; 0 where none are hidden.
    pub fn kv_offset(&self) -> usize {
        if let AttnMask::Causal { kv_offset } = self { *kv_offset } else { 0 }
    }
}

/// Attention under the names of candle's kernels.
pub mod cpu_flash {
    pub use super::dense::flash_attn;

    /// Attention that hides later keys.
    pub mod causal {
        pub use crate::attention::dense::{causal_decode_f32_interleaved, run_causal_attn_cpu};
    }
    /// Attention with a mask, or without.
    pub mod standard {
        pub use crate::attention::dense::run_flash_attn_cpu;
    }
    /// Attention of sequences of several lengths.
    pub mod varlen {
        pub use crate::attention::packed::flash_attn_varlen_cpu;
    }
}

/// Attention of sequences of several lengths.
pub mod varlen {
    pub use super::packed::flash_attn_varlen_unfused;
}
