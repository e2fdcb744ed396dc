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

subject! { counts, differences, extrema, histograms, medians, moments, quantiles, segments, slopes }
