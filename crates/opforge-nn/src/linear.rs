//! The fully connected layer.

use opforge::{Module, Result, Tensor};

use crate::{Init, VarBuilder};

/// `x weight^T + bias` over the last dimension: `x` is `[.., in]`, the weight `[out, in]`, the bias `[out]` or of a shape that broadcasts with `[.., out]`.
#[derive(Debug, Clone)]
pub struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    /// A layer of these parameters.
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Self {
        Linear { weight, bias }
    }

    /// The weight, `[out, in]`.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The bias.
    pub fn bias(&self) -> Option<&Tensor> {
        self.bias.as_ref()
    }
}

impl Module for Linear {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        use opforge::functional::linear;
        match (&self.bias, self.weight.dims()) {
            (Some(bias), &[out, _]) if bias.dims() != [out] => linear(xs, &self.weight, None)?.broadcast_add(bias),
            (bias, _) => linear(xs, &self.weight, bias.as_ref()),
        }
    }
}

/// A linear layer with a bias, of the variables `weight` and `bias`.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn linear(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let weight = vb.get_with_hints((out_dim, in_dim), "weight", Init::DEFAULT_KAIMING_NORMAL)?;
    let bound = 1.0 / (in_dim as f64).sqrt();
    let bias = vb.get_with_hints(out_dim, "bias", Init::Uniform { lo: -bound, up: bound })?;
    Ok(Linear::new(weight, Some(bias)))
}

/// A linear layer without bias, of the variable `weight`.
///
/// # Errors
/// As [`linear()`].
pub fn linear_no_bias(in_dim: usize, out_dim: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let weight = vb.get_with_hints((out_dim, in_dim), "weight", Init::DEFAULT_KAIMING_NORMAL)?;
    Ok(Linear::new(weight, None))
}

/// A linear layer with or without bias.
///
/// # Errors
/// As [`linear()`].
pub fn linear_b(in_dim: usize, out_dim: usize, bias: bool, vb: VarBuilder<'_>) -> Result<Linear> {
    if bias { linear(in_dim, out_dim, vb) } else { linear_no_bias(in_dim, out_dim, vb) }
}
