//! The cases on candle.

pub use candle_core as lib;

use candle_core::{Result, Tensor};
use candle_nn::{loss, ops};

#[allow(clippy::duplicate_mod, reason = "the same cases, against another library")]
#[path = "cases.rs"]
mod cases;
pub use cases::cases;

fn softmax(x: &Tensor, dim: usize) -> Result<Tensor> {
    ops::softmax(x, dim)
}

fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    ops::softmax_last_dim(x)
}

fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    ops::layer_norm(x, weight, bias, 1e-5)
}

fn cross_entropy(scores: &Tensor, labels: &Tensor) -> Result<Tensor> {
    loss::cross_entropy(scores, labels)
}
