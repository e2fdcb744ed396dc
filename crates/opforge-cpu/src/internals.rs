//! What the crate's tests look into beside its kernels; nothing for others.

pub use crate::copy::tile::Tile;
#[cfg(target_arch = "x86_64")]
pub use crate::copy::tile::x86::baseline as baseline_tile;
pub use crate::index::nonzero::truths_of_eight;
pub use crate::loops::plan::{LoopDim, LoopDims, Walk, order_and_merge};
pub use crate::loops::work::GRAIN;
pub use crate::random::draw::{ln, sin_cos_turns};
pub use crate::random::philox::{LANES, blocks, philox};
pub use crate::resample::filter::taps;
pub use crate::scan::halves::{round_bf16, round_f16};
