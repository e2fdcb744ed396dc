//! Methods of tensors that candle has and that are a few calls each; those of an operator stand in its file.

mod arith;
mod compare;
mod construct;
mod convolve;
mod create;
mod index;
mod parts;
mod pool;
mod resize;
mod summary;
mod write;

pub use compare::CmpOp;
pub use convolve::CudnnFwdAlgo;
pub use index::{IndexOp, TensorIndexer};
pub use pool::ToUsize2;
