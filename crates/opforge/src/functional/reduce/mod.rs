//! Many elements in, one out; and what is computed along a dimension.

mod counts;
mod differences;
mod extrema;
mod histograms;
mod medians;
mod moments;
mod quantiles;
mod segments;
mod slopes;

pub use counts::*;
pub use differences::*;
pub use extrema::*;
pub use histograms::*;
pub use medians::*;
pub use moments::*;
pub use quantiles::*;
pub use segments::*;
pub use slopes::*;

/// The signatures of the functions, a list a file.
pub(super) static FUNCTIONS: &[&[crate::declaration::Function]] = &[
    counts::FUNCTIONS,
    differences::FUNCTIONS,
    extrema::FUNCTIONS,
    histograms::FUNCTIONS,
    medians::FUNCTIONS,
    moments::FUNCTIONS,
    quantiles::FUNCTIONS,
    segments::FUNCTIONS,
    slopes::FUNCTIONS,
];
