//! Where the conventions of candle and PyTorch differ.

use crate::DType;

/// How a function treats operands that differ, and what its truth values and indices are made of: the conventions in which candle and PyTorch differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether shapes are stretched to each other.
    pub broadcast: bool,
    /// Whether dtypes are promoted to a common one.
    pub promote: bool,
    /// Whether a number is cast to the tensor's dtype as Rust's `as` does ([`opforge_core::Scalar::cast`]); else one that does not fit is an error.
    pub cast: bool,
    /// The dtype of comparison results.
    pub truth: DType,
    /// The dtype of index results.
    pub index: DType,
}

impl Rules {
    /// candle's plain methods: equal shapes and dtypes, numbers cast to them, truth in u8, indices in u32.
    pub const SAME: Rules = Rules { broadcast: false, promote: false, cast: true, truth: DType::U8, index: DType::U32 };
    /// candle's `broadcast_` methods, which take no numbers.
    pub const BROADCAST: Rules = Rules { broadcast: true, cast: false, ..Rules::SAME };
    /// PyTorch's functions: broadcasting and promotion, truth in bool, indices in i64.
    pub const TORCH: Rules =
        Rules { broadcast: true, promote: true, cast: false, truth: DType::Bool, index: DType::I64 };
}
