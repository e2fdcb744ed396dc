//! Methods of tensors that candle has and that are a few calls each; those of an operator stand in its file.

mod arith;
mod construct;
mod create;
mod index;
mod parts;
mod summary;
mod write;

pub use index::{IndexOp, TensorIndexer};
