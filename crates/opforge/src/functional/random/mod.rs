//! Random tensors.

mod in_place;
mod samples;

subject! { in_place, samples }
