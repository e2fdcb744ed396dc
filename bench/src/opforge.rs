//! The cases on opforge.

pub use opforge as lib;

use opforge::{Result, Tensor, functional};

#[path = "cases.rs"]
mod cases;
pub use cases::cases;

fn softmax(x: &Tensor, dim: usize) -> Result<Tensor> {
    functional::softmax(x, dim as i64, None)
}

fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    functional::softmax(x, -1, None)
}

fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    functional::layer_norm(x, &[weight.elem_count() as i64], Some(weight), Some(bias), 1e-5)
}

fn cross_entropy(scores: &Tensor, labels: &Tensor) -> Result<Tensor> {
    functional::cross_entropy(scores, labels, None, -100, "mean", 0.0)
}
