//! Normalisation of channels over a batch (Ioffe and Szegedy, 2015).

use opforge::functional as f;
use opforge::{Error, ModuleT, Result, Tensor};

use crate::{Init, VarBuilder};

/// The options of a [`BatchNorm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchNormConfig {
    /// Added to the variance.
    pub eps: f64,
    /// Whether the mean is taken away. Without, the norm is that of the mean of squares.
    pub remove_mean: bool,
    /// Whether there are a weight and a bias.
    pub affine: bool,
    /// The share by which running statistics move towards those of a batch.
    pub momentum: f64,
}

impl Default for BatchNormConfig {
    fn default() -> Self {
        BatchNormConfig { eps: 1e-5, remove_mean: true, affine: true, momentum: 0.1 }
    }
}

impl From<f64> for BatchNormConfig {
    fn from(eps: f64) -> Self {
        BatchNormConfig { eps, ..BatchNormConfig::default() }
    }
}

/// Normalises each channel of `[batch, channels, ..]` to mean 0 and variance 1, then scales and shifts it. Training takes mean and variance of the batch and
/// moves the running ones, in place; otherwise the running ones are taken.
#[derive(Debug, Clone)]
pub struct BatchNorm {
    running_mean: Tensor,
    running_var: Tensor,
    weight_and_bias: Option<(Tensor, Tensor)>,
    config: BatchNormConfig,
}

impl BatchNorm {
    /// With weight and bias. Running statistics start as copies of those given.
    ///
    /// # Errors
    /// When a tensor does not have one number a channel, or `eps` is negative.
    pub fn new(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: f64,
    ) -> Result<Self> {
        Self::of(num_features, [running_mean, running_var], Some((weight, bias)), eps.into())
    }

    /// As [`BatchNorm::new`], without weight and bias.
    ///
    /// # Errors
    /// As [`BatchNorm::new`].
    pub fn new_no_bias(num_features: usize, running_mean: Tensor, running_var: Tensor, eps: f64) -> Result<Self> {
        Self::of(num_features, [running_mean, running_var], None, eps.into())
    }

    /// As [`BatchNorm::new`], with a share by which running statistics move.
    ///
    /// # Errors
    /// As [`BatchNorm::new`]; when `momentum` is not within 0 and 1.
    pub fn new_with_momentum(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: f64,
        momentum: f64,
    ) -> Result<Self> {
        let config = BatchNormConfig { momentum, ..eps.into() };
        Self::of(num_features, [running_mean, running_var], Some((weight, bias)), config)
    }

    /// As [`BatchNorm::new_with_momentum`], without weight and bias.
    ///
    /// # Errors
    /// As [`BatchNorm::new_with_momentum`].
    pub fn new_no_bias_with_momentum(
        num_features: usize,
        running_mean: Tensor,
        running_var: Tensor,
        eps: f64,
        momentum: f64,
    ) -> Result<Self> {
        let config = BatchNormConfig { momentum, ..eps.into() };
        Self::of(num_features, [running_mean, running_var], None, config)
    }

    fn of(
        channels: usize,
        running: [Tensor; 2],
        weight_and_bias: Option<(Tensor, Tensor)>,
        config: BatchNormConfig,
    ) -> Result<Self> {
        let copied = |t: &Tensor| t.detach().copy();
        let running = [copied(&running[0])?, copied(&running[1])?];
        Self::over(channels, running, weight_and_bias, config)
    }

    /// Over running statistics that are changed where they are.
    fn over(
        channels: usize,
        [running_mean, running_var]: [Tensor; 2],
        weight_and_bias: Option<(Tensor, Tensor)>,
        config: BatchNormConfig,
    ) -> Result<Self> {
        const OP: &str = "batch_norm";
        if config.eps < 0.0 {
            return Err(Error::value(OP, "eps", config.eps, "a number that is not negative"));
        }
        if !(0.0..=1.0).contains(&config.momentum) {
            return Err(Error::value(OP, "momentum", config.momentum, "a number within 0 and 1"));
        }
        let parameters = weight_and_bias.iter().flat_map(|(weight, bias)| [weight, bias]);
        for tensor in [&running_mean, &running_var].into_iter().chain(parameters) {
            if tensor.dims() != [channels] {
                let given = format!("{:?}", tensor.shape());
                return Err(Error::shape(OP, "parameters", given, format!("[{channels}], one number a channel")));
            }
        }
        Ok(BatchNorm { running_mean, running_var, weight_and_bias, config })
    }

    /// The running means.
    pub fn running_mean(&self) -> &Tensor {
        &self.running_mean
    }

    /// The running variances.
    pub fn running_var(&self) -> &Tensor {
        &self.running_var
    }

    /// What is added to variances.
    pub fn eps(&self) -> f64 {
        self.config.eps
    }

    /// The weight and the bias.
    pub fn weight_and_bias(&self) -> Option<(&Tensor, &Tensor)> {
        self.weight_and_bias.as_ref().map(|(weight, bias)| (weight, bias))
    }

    /// The share by which running statistics move.
    pub fn momentum(&self) -> f64 {
        self.config.momentum
    }

    /// The norm by the statistics of this batch; moves the running ones.
    ///
    /// # Errors
    /// For other numbers of channels, and one value a channel.
    #[track_caller]
    pub fn forward_train(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_t(x, true)
    }
}

impl ModuleT for BatchNorm {
    #[track_caller]
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let BatchNormConfig { eps, momentum, remove_mean, .. } = self.config;
        let (weight, bias) = self.weight_and_bias().unzip();
        if remove_mean {
            let running = [Some(&self.running_mean), Some(&self.running_var)];
            return f::batch_norm(x, running[0], running[1], weight, bias, train, momentum, eps);
        }
        let squares = if train { self.mean_of_squares(x)? } else { self.running_var.clone() };
        let shape: Vec<usize> = (0..x.rank()).map(|d| if d == 1 { self.running_var.elem_count() } else { 1 }).collect();
        let scale = (squares + eps)?.sqrt()?.recip()?;
        let scale = weight.map_or(Ok(scale.clone()), |weight| scale.mul(weight))?.reshape(&shape[..])?;
        let scaled = x.broadcast_mul(&scale.to_dtype(x.dtype())?)?;
        bias.map_or(Ok(scaled.clone()), |bias| scaled.broadcast_add(&bias.reshape(&shape[..])?))
    }
}

impl BatchNorm {
    /// The mean of squares of each channel; the running ones move towards it.
    fn mean_of_squares(&self, x: &Tensor) -> Result<Tensor> {
        let dims: Vec<usize> = (0..x.rank()).filter(|&d| d != 1).collect();
        let squares = x.to_dtype(self.running_var.dtype())?.sqr()?.mean(dims)?;
        // As variances, the running ones are those of a population of which the batch is a sample.
        let count = (x.elem_count() / squares.elem_count().max(1)) as f64;
        let share = self.config.momentum * count / (count - 1.0);
        let moved = opforge::no_grad(|| {
            let kept = self.running_var.affine(1.0 - self.config.momentum, 0.0)?;
            kept.add(&squares.detach().affine(share, 0.0)?)
        })?;
        self.running_var.slice_set(&moved, 0, 0)?;
        Ok(squares)
    }
}

/// A norm of the variables `running_mean`, `running_var` and, if affine, `weight` and `bias`. What training changes of the running statistics is seen by the
/// builder's variables.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn batch_norm<C: Into<BatchNormConfig>>(num_features: usize, config: C, vb: VarBuilder<'_>) -> Result<BatchNorm> {
    let config = config.into();
    let get = |name: &str, init: f64| vb.get_with_hints(num_features, name, Init::Const(init));
    let running = [get("running_mean", 0.0)?.detach(), get("running_var", 1.0)?.detach()];
    let weight_and_bias = if config.affine { Some((get("weight", 1.0)?, get("bias", 0.0)?)) } else { None };
    BatchNorm::over(num_features, running, weight_and_bias, config)
}
