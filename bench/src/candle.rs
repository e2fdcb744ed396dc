//! The cases on candle.

pub use candle_core as lib;

use candle_core::{Result, Tensor};
use candle_nn::{BatchNorm, GroupNorm, Module, ModuleT, loss, ops};

#[allow(clippy::duplicate_mod, reason = "the same cases, against another library")]
#[path = "cases.rs"]
mod cases;
#[allow(clippy::duplicate_mod, reason = "the same cases, against another library")]
#[path = "operators.rs"]
mod operators;

/// All cases.
pub fn all() -> Vec<crate::case::Case> {
    cases::cases().into_iter().chain(operators::cases()).collect()
}

fn softmax(x: &Tensor, dim: usize) -> Result<Tensor> {
    ops::softmax(x, dim)
}

fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    ops::softmax_last_dim(x)
}

fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    ops::layer_norm(x, weight, bias, 1e-5)
}

fn rms_norm(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    ops::rms_norm(x, weight, 1e-5)
}

fn group_norm(x: &Tensor, groups: usize, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    GroupNorm::new(weight.clone(), bias.clone(), weight.elem_count(), groups, 1e-5)?.forward(x)
}

/// With running statistics; the mean serves as weight and bias too.
fn batch_norm(x: &Tensor, mean: &Tensor, var: &Tensor) -> Result<Tensor> {
    let channels = mean.elem_count();
    BatchNorm::new(channels, mean.clone(), var.clone(), mean.clone(), mean.clone(), 1e-5)?.forward_t(x, false)
}

fn upsample_nearest(x: &Tensor, size: usize) -> Result<Tensor> {
    x.upsample_nearest2d(size, size)
}

fn upsample_bilinear(x: &Tensor, size: usize) -> Result<Tensor> {
    x.upsample_bilinear2d(size, size, false)
}

fn cross_entropy(scores: &Tensor, labels: &Tensor) -> Result<Tensor> {
    loss::cross_entropy(scores, labels)
}
