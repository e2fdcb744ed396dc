//! Normalisation over the last dimension.

use opforge::functional as f;
use opforge::{D, Module, Result, Tensor};

use crate::{Init, VarBuilder};

/// The options of a [`LayerNorm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerNormConfig {
    /// Added to the variance.
    pub eps: f64,
    /// Whether the mean is subtracted; without, the norm is that of the root mean square.
    pub remove_mean: bool,
    /// Whether there is a bias.
    pub affine: bool,
}

impl Default for LayerNormConfig {
    fn default() -> Self {
        LayerNormConfig { eps: 1e-5, remove_mean: true, affine: true }
    }
}

impl From<f64> for LayerNormConfig {
    fn from(eps: f64) -> Self {
        LayerNormConfig { eps, ..LayerNormConfig::default() }
    }
}

/// Normalises the last dimension to mean 0 and variance 1, then scales and shifts it: `(x - mean) / sqrt(var + eps) * weight + bias`. Weight and bias are vectors
/// of the last dimension's length, or broadcast with the input.
#[derive(Debug, Clone)]
pub struct LayerNorm {
    weight: Tensor,
    bias: Option<Tensor>,
    remove_mean: bool,
    eps: f64,
}

impl LayerNorm {
    /// With weight and bias.
    pub fn new(weight: Tensor, bias: Tensor, eps: f64) -> Self {
        LayerNorm { weight, bias: Some(bias), remove_mean: true, eps }
    }

    /// Without bias.
    pub fn new_no_bias(weight: Tensor, eps: f64) -> Self {
        LayerNorm { weight, bias: None, remove_mean: true, eps }
    }

    /// By the root mean square: without subtracting the mean, and without bias.
    pub fn rms_norm(weight: Tensor, eps: f64) -> Self {
        LayerNorm { weight, bias: None, remove_mean: false, eps }
    }

    /// The weight.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }

    /// What is added to the variance.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// Whether the mean is subtracted.
    pub fn remove_mean(&self) -> bool {
        self.remove_mean
    }
}

impl Module for LayerNorm {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let len = xs.dim(D::Minus1)?;
        let is_vector = |t: &Tensor| t.dims() == [len];
        let fused = is_vector(&self.weight) && self.bias.as_ref().is_none_or(is_vector);
        let weight = fused.then_some(&self.weight);
        let normal = match (self.remove_mean, &self.bias) {
            (true, Some(bias)) if fused => return f::layer_norm(xs, &[len as i64], weight, Some(bias), self.eps),
            (true, _) => f::layer_norm(xs, &[len as i64], weight, None, self.eps)?,
            (false, _) => f::rms_norm(xs, &[len as i64], weight, Some(self.eps))?,
        };
        let scaled = if fused { normal } else { normal.broadcast_mul(&self.weight)? };
        self.bias.as_ref().map_or(Ok(scaled.clone()), |bias| scaled.broadcast_add(bias))
    }
}

/// Scales the last dimension to a root mean square of 1, then by a weight: `x / sqrt(mean(x^2) + eps) * weight`.
#[derive(Debug, Clone)]
pub struct RmsNorm(LayerNorm);

impl RmsNorm {
    /// With this weight, a vector of the last dimension's length.
    pub fn new(weight: Tensor, eps: f64) -> Self {
        RmsNorm(LayerNorm::rms_norm(weight, eps))
    }

    /// The weight.
    pub fn weight(&self) -> &Tensor {
        self.0.weight()
    }

    /// What is added to the mean of squares.
    pub fn eps(&self) -> f64 {
        self.0.eps()
    }

    /// As `forward`: candle's name of the version with a gradient, which both have here.
    ///
    /// # Errors
    /// As [`crate::ops::rms_norm`].
    #[track_caller]
    pub fn forward_diff(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward(xs)
    }

    /// As a [`LayerNorm`].
    pub fn into_inner(self) -> LayerNorm {
        self.0
    }
}

impl Module for RmsNorm {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        self.0.forward(xs)
    }
}

/// A layer norm of `size` elements, of the variables `weight` (ones at first) and, if affine, `bias` (zeros).
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn layer_norm<C: Into<LayerNormConfig>>(size: usize, config: C, vb: VarBuilder<'_>) -> Result<LayerNorm> {
    let LayerNormConfig { eps, remove_mean, affine } = config.into();
    let weight = vb.get_with_hints(size, "weight", Init::Const(1.0))?;
    let bias = if affine { Some(vb.get_with_hints(size, "bias", Init::Const(0.0))?) } else { None };
    Ok(LayerNorm { weight, bias, remove_mean, eps })
}

/// As [`layer_norm`], without bias.
///
/// # Errors
/// As [`layer_norm`].
pub fn layer_norm_no_bias(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<LayerNorm> {
    layer_norm(size, LayerNormConfig { eps, remove_mean: true, affine: false }, vb)
}

/// An RMS norm of `size` elements, of the variable `weight` (ones at first).
///
/// # Errors
/// As [`layer_norm`].
pub fn rms_norm(size: usize, eps: f64, vb: VarBuilder<'_>) -> Result<RmsNorm> {
    layer_norm(size, LayerNormConfig { eps, remove_mean: false, affine: false }, vb).map(RmsNorm)
}
