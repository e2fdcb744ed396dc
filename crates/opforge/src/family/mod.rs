//! The families that operators belong to, which fill most of the trait in.

mod binary;
pub(crate) mod channel_affine;
mod compare;
mod draw;
pub(crate) mod index;
pub(crate) mod matrix;
pub(crate) mod norm;
mod pairs;
pub(crate) mod pool;
mod reduce;
mod scan;
mod ternary;
mod unary;
mod update;
mod view;
pub(crate) mod window;

pub(crate) use binary::pair_samples;
pub use binary::{Binary, BinaryOp, Pair, Side, WithScalar, binary_samples};
pub use compare::{CompareOp, CompareWithScalar, Comparison, TestOp, compare_samples, test_samples};
pub use draw::{Distribution, DrawOp, draw};
pub use pairs::{binary, binary_float, binary_to, compare, compare_to, unary_float, unary_promoted};
pub(crate) use pairs::{common_dtype, converted, dtype_with, fit, floating, pair};
pub use reduce::{Axes, ReduceOp, Reduced, Reduction, reduce_array, reduction_samples};
pub(crate) use reduce::{check_axes, reduce_dim, reduce_dims};
pub use scan::{Scan, ScanOp, scan_samples};
pub(crate) use ternary::{Ternary, TernaryOp, is_fused, ternary_samples};
pub(crate) use unary::result_layout;
pub use unary::{Unary, UnaryOp, unary, unary_dtypes, unary_samples, unary_samples_with, unary_to};
pub use update::{Update, update, update_sample};
pub(crate) use update::{check_list, dense};
pub use view::{EmbedOp, OverlayOp, View, ViewOp, overlay, view};
pub(crate) use view::{embed, same_axes};
