//! Transposed convolutions.

use opforge::functional as f;
use opforge::{Module, Result, Tensor};

use super::{bound_of_fan, parameters, to_i64};
use crate::VarBuilder;

/// Stride, paddings, dilation and groups of a [`ConvTranspose1d`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvTranspose1dConfig {
    /// Elements cut off at both ends.
    pub padding: usize,
    /// Elements added at the end.
    pub output_padding: usize,
    /// The distance between windows.
    pub stride: usize,
    /// The distance between the elements under a window.
    pub dilation: usize,
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// As [`ConvTranspose1dConfig`], for both dimensions of images and without groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ConvTranspose2dConfig {
    pub padding: usize,
    pub output_padding: usize,
    pub stride: usize,
    pub dilation: usize,
}

impl Default for ConvTranspose1dConfig {
    fn default() -> Self {
        ConvTranspose1dConfig { padding: 0, output_padding: 0, stride: 1, dilation: 1, groups: 1 }
    }
}

impl Default for ConvTranspose2dConfig {
    fn default() -> Self {
        ConvTranspose2dConfig { padding: 0, output_padding: 0, stride: 1, dilation: 1 }
    }
}

layer!(
    ConvTranspose1d,
    ConvTranspose1dConfig,
    "A transposed convolution of `[batch, channels, length]` with a weight `[channels, out / groups, size]`.",
    |layer, x| {
        let ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups } = layer.config;
        let [stride, padding, more, dilation] = [stride, padding, output_padding, dilation].map(|n| [to_i64(n)]);
        let bias = layer.bias.as_ref();
        f::conv_transpose1d(x, &layer.weight, bias, &stride, &padding, &more, to_i64(groups), &dilation)
    }
);
layer!(
    ConvTranspose2d,
    ConvTranspose2dConfig,
    "A transposed convolution of `[batch, channels, height, width]` with a weight `[channels, out, height, width]`.",
    |layer, x| {
        let ConvTranspose2dConfig { padding, output_padding, stride, dilation } = layer.config;
        let [stride, padding, more, dilation] = [stride, padding, output_padding, dilation].map(|n| [to_i64(n)]);
        f::conv_transpose2d(x, &layer.weight, layer.bias.as_ref(), &stride, &padding, &more, 1, &dilation)
    }
);

/// A transposed convolution of the variables `weight` and `bias`.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn conv_transpose1d(
    ins: usize,
    outs: usize,
    size: usize,
    cfg: ConvTranspose1dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose1d> {
    let init = bound_of_fan(outs.saturating_mul(size));
    let (weight, bias) = parameters(&[ins, outs / cfg.groups.max(1), size], init, outs, Some(init), &vb)?;
    Ok(ConvTranspose1d::new(weight, bias, cfg))
}

/// As [`conv_transpose1d`], without bias.
///
/// # Errors
/// As [`conv_transpose1d`].
pub fn conv_transpose1d_no_bias(
    ins: usize,
    outs: usize,
    size: usize,
    cfg: ConvTranspose1dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose1d> {
    let init = bound_of_fan(outs.saturating_mul(size));
    let (weight, _) = parameters(&[ins, outs / cfg.groups.max(1), size], init, outs, None, &vb)?;
    Ok(ConvTranspose1d::new(weight, None, cfg))
}

/// As [`conv_transpose1d`], of images, with square windows.
///
/// # Errors
/// As [`conv_transpose1d`].
pub fn conv_transpose2d(
    ins: usize,
    outs: usize,
    size: usize,
    cfg: ConvTranspose2dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose2d> {
    let init = bound_of_fan(outs.saturating_mul(size).saturating_mul(size));
    let (weight, bias) = parameters(&[ins, outs, size, size], init, outs, Some(init), &vb)?;
    Ok(ConvTranspose2d::new(weight, bias, cfg))
}

/// As [`conv_transpose2d`], without bias.
///
/// # Errors
/// As [`conv_transpose1d`].
pub fn conv_transpose2d_no_bias(
    ins: usize,
    outs: usize,
    size: usize,
    cfg: ConvTranspose2dConfig,
    vb: VarBuilder<'_>,
) -> Result<ConvTranspose2d> {
    let init = bound_of_fan(outs.saturating_mul(size).saturating_mul(size));
    let (weight, _) = parameters(&[ins, outs, size, size], init, outs, None, &vb)?;
    Ok(ConvTranspose2d::new(weight, None, cfg))
}
