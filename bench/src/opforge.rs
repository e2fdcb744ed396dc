//! The cases on opforge.

pub use opforge as lib;

use opforge::{Result, Tensor, functional};

#[path = "cases.rs"]
mod cases;
#[path = "operators.rs"]
mod operators;

/// All cases.
pub fn all() -> Vec<crate::case::Case> {
    cases::cases().into_iter().chain(operators::cases()).collect()
}

fn softmax(x: &Tensor, dim: usize) -> Result<Tensor> {
    functional::softmax(x, dim as i64, None)
}

fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    functional::softmax(x, -1, None)
}

fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    functional::layer_norm(x, &[weight.elem_count() as i64], Some(weight), Some(bias), 1e-5)
}

fn rms_norm(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    functional::rms_norm(x, &[weight.elem_count() as i64], Some(weight), Some(1e-5))
}

fn group_norm(x: &Tensor, groups: usize, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    functional::group_norm(x, groups as i64, Some(weight), Some(bias), 1e-5)
}

/// With running statistics; the mean serves as weight and bias too.
fn batch_norm(x: &Tensor, mean: &Tensor, var: &Tensor) -> Result<Tensor> {
    functional::batch_norm(x, Some(mean), Some(var), Some(mean), Some(mean), false, 0.1, 1e-5)
}

fn upsample_nearest(x: &Tensor, size: usize) -> Result<Tensor> {
    functional::interpolate(x, Some(&[size as i64; 2]), None, "nearest", None, None, false)
}

fn upsample_bilinear(x: &Tensor, size: usize) -> Result<Tensor> {
    functional::interpolate(x, Some(&[size as i64; 2]), None, "bilinear", Some(false), None, false)
}

fn cross_entropy(scores: &Tensor, labels: &Tensor) -> Result<Tensor> {
    functional::cross_entropy(scores, labels, None, -100, "mean", 0.0)
}
