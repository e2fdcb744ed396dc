//! New tensors.

mod constants;
mod like;
mod ranges;

subject! { constants, like, ranges }
