//! Normalisation of groups of channels (Wu and He, 2018).

use opforge::functional as f;
use opforge::{Error, Module, Result, Tensor};

use crate::{Init, VarBuilder};

/// Normalises groups of the channels of `[batch, channels, ..]`, each of one batch element, to mean 0 and variance 1, then scales and shifts each channel.
#[derive(Debug, Clone)]
pub struct GroupNorm {
    weight: Tensor,
    bias: Tensor,
    num_channels: usize,
    num_groups: usize,
    eps: f64,
}

impl GroupNorm {
    /// Of these parameters, one number a channel.
    ///
    /// # Errors
    /// For groups that do not divide the channels.
    pub fn new(weight: Tensor, bias: Tensor, num_channels: usize, num_groups: usize, eps: f64) -> Result<Self> {
        if num_groups == 0 || !num_channels.is_multiple_of(num_groups) {
            let accepted = format!("a divisor of {num_channels} channels");
            return Err(Error::value("group_norm", "num_groups", num_groups, accepted));
        }
        Ok(GroupNorm { weight, bias, num_channels, num_groups, eps })
    }
}

impl Module for GroupNorm {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if x.rank() >= 2 && x.dims()[1] != self.num_channels {
            let accepted = format!("[batch, {}, ..]", self.num_channels);
            return Err(Error::shape("group_norm", "input", format!("{:?}", x.shape()), accepted));
        }
        f::group_norm(x, self.num_groups as i64, Some(&self.weight), Some(&self.bias), self.eps)
    }
}

/// A norm of the variables `weight` (ones at first) and `bias` (zeros).
///
/// # Errors
/// As [`GroupNorm::new`]; when the builder has no variables of these names and shapes.
pub fn group_norm(num_groups: usize, num_channels: usize, eps: f64, vb: VarBuilder<'_>) -> Result<GroupNorm> {
    let weight = vb.get_with_hints(num_channels, "weight", Init::Const(1.0))?;
    let bias = vb.get_with_hints(num_channels, "bias", Init::Const(0.0))?;
    GroupNorm::new(weight, bias, num_channels, num_groups, eps)
}
