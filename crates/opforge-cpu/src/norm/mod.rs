//! Operators that normalise along an axis, each in one pass over memory: a row is widened into working memory that stays in a cache,
//! and everything happens there.

mod backward;
mod batch_norm;
mod channel_affine;
mod columns;
mod layer_norm;
mod sets;
mod single;
mod softmax;

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;

use crate::loops::staged::with_contiguous;

pub use backward::{layer_norm_backward, parameter_sums, rms_norm_backward};
pub use batch_norm::{batch_norm, batch_norm_backward};
pub use channel_affine::channel_affine;
pub use layer_norm::{layer_norm, rms_norm, stats_dtype};
pub use opforge_tile::forms::Over;
pub use softmax::softmax_of_columns;

/// Refuses a tensor that is not contiguous, of the model's shape and dtype.
fn expect_like(op: &'static str, name: &'static str, given: &Meta, model: &Meta) -> Result<()> {
    if given.dtype != model.dtype {
        return Err(Error::dtype(op, name, given.dtype, model.dtype));
    }
    if given.shape() != model.shape() || !given.layout.is_contiguous() {
        let accepted = format!("a contiguous tensor of the shape {:?}", model.shape());
        return Err(Error::shape(op, name, format!("{:?}", given.layout), accepted));
    }
    Ok(())
}

/// The kernel that `make` prepares for inputs whose rows, along the last axis, are contiguous; inputs with others are copied first.
fn with_contiguous_rows(
    inputs: &[&Meta],
    make: impl FnOnce(&[&Meta]) -> Result<Arc<dyn HostKernel>>,
) -> Result<Arc<dyn HostKernel>> {
    let contiguous = |input: &&Meta| input.dims().last() == Some(&1) || input.layout.stride().last() == Some(&1);
    if inputs.iter().all(contiguous) { make(inputs) } else { with_contiguous(inputs, make) }
}

/// What stands for `eps` where numbers are multiplied by `scale`: as much less, but no less than what keeps a variance of 0 from being divided by.
fn scaled_eps(eps: f64, scale: f64) -> f64 {
    if eps > 0.0 { (eps * scale * scale).max(f64::MIN_POSITIVE) } else { eps }
}
