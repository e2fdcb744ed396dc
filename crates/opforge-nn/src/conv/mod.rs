//! Convolutions with a weight and a bias.

/// A layer of a weight, perhaps a bias, and how windows move; and what it computes.
macro_rules! layer {
    ($name:ident, $config:ident, $what:literal, |$layer:ident, $x:ident| $forward:expr) => {
        #[doc = $what]
        #[derive(Debug, Clone)]
        pub struct $name {
            weight: Tensor,
            bias: Option<Tensor>,
            config: $config,
        }

        impl $name {
            /// A layer of these parameters.
            pub fn new(weight: Tensor, bias: Option<Tensor>, config: $config) -> Self {
                $name { weight, bias, config }
            }

            /// Stride, padding, dilation and groups.
            pub fn config(&self) -> &$config {
                &self.config
            }

            /// The weight.
            pub fn weight(&self) -> &Tensor {
                &self.weight
            }

            /// The bias.
            pub fn bias(&self) -> Option<&Tensor> {
                self.bias.as_ref()
            }
        }

        impl Module for $name {
            #[track_caller]
            fn forward(&self, $x: &Tensor) -> Result<Tensor> {
                let $layer = self;
                $forward
            }
        }
    };
}

mod transposed;

use opforge::functional as f;
use opforge::{Module, Result, Tensor};

pub use opforge::conv::CudnnFwdAlgo;
pub use transposed::{
    ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig, conv_transpose1d,
    conv_transpose1d_no_bias, conv_transpose2d, conv_transpose2d_no_bias,
};

use crate::{BatchNorm, Init, VarBuilder};

/// Stride, padding, dilation and groups of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv1dConfig {
    /// Zeros added at both ends.
    pub padding: usize,
    /// The distance between windows.
    pub stride: usize,
    /// The distance between the elements under a window.
    pub dilation: usize,
    /// Groups of channels that do not see each other.
    pub groups: usize,
    /// A hint for CUDA; kernels of the CPU choose by themselves.
    pub cudnn_fwd_algo: Option<CudnnFwdAlgo>,
}

/// As [`Conv1dConfig`], for both dimensions of images.
pub type Conv2dConfig = Conv1dConfig;

impl Default for Conv1dConfig {
    fn default() -> Self {
        Conv1dConfig { padding: 0, stride: 1, dilation: 1, groups: 1, cudnn_fwd_algo: None }
    }
}

layer!(
    Conv1d,
    Conv1dConfig,
    "A convolution of `[batch, channels, length]` with a weight `[out, channels / groups, size]`.",
    |layer, x| {
        let [stride, padding, dilation, groups] = layer.config.sizes();
        f::conv1d(x, &layer.weight, layer.bias.as_ref(), &[stride], &[padding], &[dilation], groups)
    }
);
layer!(
    Conv2d,
    Conv2dConfig,
    "A convolution of `[batch, channels, height, width]` with a weight `[out, channels / groups, height, width]`.",
    |layer, x| {
        let [stride, padding, dilation, groups] = layer.config.sizes();
        f::conv2d(x, &layer.weight, layer.bias.as_ref(), &[stride], &[padding], &[dilation], groups)
    }
);

impl Conv1dConfig {
    /// Stride, padding, dilation and groups.
    fn sizes(&self) -> [i64; 4] {
        [self.stride, self.padding, self.dilation, self.groups].map(to_i64)
    }
}

/// Sizes beyond the range are refused by the convolution as other impossible ones are.
pub(crate) fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl Conv2d {
    /// This convolution and then a batch norm outside of training, as one convolution.
    ///
    /// # Errors
    /// When the norm is not one of as many channels.
    pub fn absorb_bn(&self, bn: &BatchNorm) -> Result<Self> {
        let scale = (bn.running_var() + bn.eps())?.sqrt()?.recip()?;
        let (scale, shift) = match bn.weight_and_bias() {
            Some((weight, bias)) => (scale.mul(weight)?, Some(bias)),
            None => (scale, None),
        };
        let bias = self.bias.as_ref().map_or_else(|| bn.running_mean().neg(), |bias| bias.sub(bn.running_mean()))?;
        let bias = bias.mul(&scale)?;
        let bias = shift.map_or(Ok(bias.clone()), |shift| bias.add(shift))?;
        let weight = self.weight.broadcast_mul(&scale.reshape(((), 1, 1, 1))?)?;
        Ok(Conv2d { weight, bias: Some(bias), config: self.config })
    }
}

/// A convolution of the variables `weight` and `bias`.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn conv1d(ins: usize, outs: usize, size: usize, cfg: Conv1dConfig, vb: VarBuilder<'_>) -> Result<Conv1d> {
    let shape = [outs, ins / cfg.groups.max(1), size];
    let (weight, bias) = parameters(&shape, Init::DEFAULT_KAIMING_NORMAL, outs, Some(bound_of_fan(ins)), &vb)?;
    Ok(Conv1d::new(weight, bias, cfg))
}

/// As [`conv1d`], without bias.
///
/// # Errors
/// As [`conv1d`].
pub fn conv1d_no_bias(ins: usize, outs: usize, size: usize, cfg: Conv1dConfig, vb: VarBuilder<'_>) -> Result<Conv1d> {
    let shape = [outs, ins / cfg.groups.max(1), size];
    let (weight, _) = parameters(&shape, Init::DEFAULT_KAIMING_NORMAL, outs, None, &vb)?;
    Ok(Conv1d::new(weight, None, cfg))
}

/// As [`conv1d`], of images, with square windows.
///
/// # Errors
/// As [`conv1d`].
pub fn conv2d(ins: usize, outs: usize, size: usize, cfg: Conv2dConfig, vb: VarBuilder<'_>) -> Result<Conv2d> {
    let shape = [outs, ins / cfg.groups.max(1), size, size];
    let (weight, bias) = parameters(&shape, Init::DEFAULT_KAIMING_NORMAL, outs, Some(bound_of_fan(ins)), &vb)?;
    Ok(Conv2d::new(weight, bias, cfg))
}

/// As [`conv2d`], without bias.
///
/// # Errors
/// As [`conv1d`].
pub fn conv2d_no_bias(ins: usize, outs: usize, size: usize, cfg: Conv2dConfig, vb: VarBuilder<'_>) -> Result<Conv2d> {
    let shape = [outs, ins / cfg.groups.max(1), size, size];
    let (weight, _) = parameters(&shape, Init::DEFAULT_KAIMING_NORMAL, outs, None, &vb)?;
    Ok(Conv2d::new(weight, None, cfg))
}

/// Uniform within `1 / sqrt(fan)` of 0.
fn bound_of_fan(fan: usize) -> Init {
    let bound = 1.0 / (fan as f64).sqrt();
    Init::Uniform { lo: -bound, up: bound }
}

/// The variables `weight` and, if there is a way for it to start, `bias`.
fn parameters(
    shape: &[usize],
    weight: Init,
    outs: usize,
    bias: Option<Init>,
    vb: &VarBuilder<'_>,
) -> Result<(Tensor, Option<Tensor>)> {
    let weight = vb.get_with_hints(shape, "weight", weight)?;
    let bias = bias.map(|init| vb.get_with_hints(outs, "bias", init)).transpose()?;
    Ok((weight, bias))
}
