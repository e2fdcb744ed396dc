//! Activation functions as modules.

use opforge::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::{VarBuilder, ops};

/// The usual activation functions. Configurations of models name them: in lower case without underscores, and those of gelu as other libraries do too.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// Exact gelu, by the error function.
    #[default]
    Gelu,
    /// Gelu approximated by tanh.
    #[serde(alias = "gelu_new")]
    NewGelu,
    /// `max(x, 0)`.
    Relu,
    /// `max(x, 0)^2`.
    Relu2,
    /// `x` within 0 and 6.
    Relu6,
    /// `x sigmoid(x)`.
    Silu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `(x + 3) / 6` within 0 and 1.
    HardSigmoid,
    /// `silu(a) b` for the halves `a` and `b` of the last dimension.
    Swiglu,
    /// As [`Activation::Silu`].
    Swish,
    /// `x tanh(ln(1 + e^x))`.
    Mish,
    /// `x` times [`Activation::HardSigmoid`].
    HardSwish,
    /// `x` where positive, else `alpha (e^x - 1)`.
    Elu(f64),
    /// `x` where positive, else `slope x`.
    LeakyRelu(f64),
    /// As [`Activation::NewGelu`].
    #[serde(alias = "gelu_pytorch_tanh")]
    GeluPytorchTanh,
}

impl Module for Activation {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        match *self {
            Activation::Gelu => xs.gelu_erf(),
            Activation::NewGelu | Activation::GeluPytorchTanh => xs.gelu(),
            Activation::Relu => xs.relu(),
            Activation::Relu2 => xs.relu()?.sqr(),
            Activation::Relu6 => xs.clamp(0f32, 6f32),
            Activation::Silu | Activation::Swish => xs.silu(),
            Activation::Sigmoid => xs.sigmoid(),
            Activation::HardSigmoid => ops::hard_sigmoid(xs),
            Activation::Swiglu => ops::swiglu(xs),
            Activation::Mish => ops::mish(xs),
            Activation::HardSwish => xs.mul(&ops::hard_sigmoid(xs)?),
            Activation::Elu(alpha) => xs.elu(alpha),
            Activation::LeakyRelu(slope) => ops::leaky_relu(xs, slope),
        }
    }
}

/// A leaky relu whose slope is learnt.
#[derive(Debug, Clone)]
pub struct PReLU {
    weight: Tensor,
    is_scalar: bool,
}

impl PReLU {
    /// With one slope for all (`is_scalar`), or one for each channel (dimension 1) or, where it has the input's shape, for each element.
    pub fn new(weight: Tensor, is_scalar: bool) -> Self {
        PReLU { weight, is_scalar }
    }

    /// The slopes.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// Whether one slope serves all channels.
    pub fn is_scalar(&self) -> bool {
        self.is_scalar
    }
}

impl Module for PReLU {
    #[track_caller]
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let slope = match (self.is_scalar, xs.rank()) {
            (true, _) => self.weight.reshape(())?,
            (false, rank) if rank < 2 || xs.shape() == self.weight.shape() => self.weight.clone(),
            (false, rank) => {
                let mut dims = vec![1; rank];
                dims[1] = self.weight.elem_count();
                self.weight.reshape(dims)?
            }
        };
        let negative = xs.le(0f32)?.where_cond(xs, &xs.zeros_like()?)?;
        xs.relu()?.add(&negative.broadcast_mul(&slope)?)
    }
}

/// A [`PReLU`] of the variable `weight`: one slope, or one a channel, 0.25 at first.
///
/// # Errors
/// When the builder has no variable of this name and shape.
pub fn prelu(num_channels: Option<usize>, vb: VarBuilder<'_>) -> Result<PReLU> {
    let weight = vb.get_with_hints(num_channels.unwrap_or(1), "weight", crate::Init::Const(0.25))?;
    Ok(PReLU::new(weight, num_channels.is_none()))
}
