//! How variables are initialised.

use opforge::{DType, Device, Result, Shape, Tensor, Var};

/// Whether a layer's inputs or outputs set the scale of its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FanInOut {
    /// The number of inputs: activations keep their scale.
    FanIn,
    /// The number of outputs: gradients keep their scale.
    FanOut,
}

impl FanInOut {
    /// The fan of a weight `[out, in, ..]`; kernel dimensions multiply it.
    pub fn for_shape(&self, shape: &Shape) -> usize {
        let dims = shape.dims();
        let kernel: usize = dims.iter().skip(2).product();
        let own = match self {
            FanInOut::FanIn => dims.get(1),
            FanInOut::FanOut => dims.first(),
        };
        own.map_or(1, |n| n * kernel)
    }
}

/// The shape of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NormalOrUniform {
    Normal,
    Uniform,
}

/// The activation that follows the layer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum NonLinearity {
    ReLU,
    Linear,
    Sigmoid,
    Tanh,
    SELU,
    ExplicitGain(f64),
}

impl NonLinearity {
    /// The factor that makes up for the function's shrinking of the variance, as PyTorch recommends it.
    pub fn gain(&self) -> f64 {
        match *self {
            NonLinearity::ReLU => 2f64.sqrt(),
            NonLinearity::Tanh => 5.0 / 3.0,
            NonLinearity::Linear | NonLinearity::Sigmoid => 1.0,
            NonLinearity::SELU => 0.75,
            NonLinearity::ExplicitGain(gain) => gain,
        }
    }
}

/// How a variable is initialised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// One number everywhere.
    Const(f64),
    /// Normally distributed.
    #[allow(missing_docs)]
    Randn { mean: f64, stdev: f64 },
    /// Uniform between two numbers.
    #[allow(missing_docs)]
    Uniform { lo: f64, up: f64 },
    /// Scaled to the layer's fan, after He et al. (2015): a standard deviation of `gain / sqrt(fan)`.
    #[allow(missing_docs)]
    Kaiming { dist: NormalOrUniform, fan: FanInOut, non_linearity: NonLinearity },
}

/// Zeros.
pub const ZERO: Init = Init::Const(0.0);
/// Ones.
pub const ONE: Init = Init::Const(1.0);
/// As [`Init::DEFAULT_KAIMING_UNIFORM`].
pub const DEFAULT_KAIMING_UNIFORM: Init = Init::DEFAULT_KAIMING_UNIFORM;
/// As [`Init::DEFAULT_KAIMING_NORMAL`].
pub const DEFAULT_KAIMING_NORMAL: Init = Init::DEFAULT_KAIMING_NORMAL;

impl Default for Init {
    fn default() -> Self {
        ZERO
    }
}

impl Init {
    /// Kaiming initialisation by fan-in, for relu, uniform.
    pub const DEFAULT_KAIMING_UNIFORM: Init = Init::kaiming(NormalOrUniform::Uniform);
    /// Kaiming initialisation by fan-in, for relu, normal.
    pub const DEFAULT_KAIMING_NORMAL: Init = Init::kaiming(NormalOrUniform::Normal);

    const fn kaiming(dist: NormalOrUniform) -> Init {
        Init::Kaiming { dist, fan: FanInOut::FanIn, non_linearity: NonLinearity::ReLU }
    }

    /// A variable that is initialised so.
    ///
    /// # Errors
    /// For dtypes that are not floats, unless the start is a constant that they can hold.
    pub fn var<S: Into<Shape>>(&self, shape: S, dtype: DType, device: &Device) -> Result<Var> {
        let shape = shape.into();
        let normal = |mean: f64, stdev: f64| Tensor::randn(mean, stdev, &shape, device)?.to_dtype(dtype);
        let uniform = |lo: f64, up: f64| Tensor::rand(lo, up, &shape, device)?.to_dtype(dtype);
        let start = match *self {
            Init::Const(value) => Tensor::full_scalar(value.into(), &shape, dtype, device),
            Init::Randn { mean, stdev } => normal(mean, stdev),
            Init::Uniform { lo, up } => uniform(lo, up),
            Init::Kaiming { dist, fan, non_linearity } => {
                let stdev = non_linearity.gain() / (fan.for_shape(&shape) as f64).sqrt();
                match dist {
                    NormalOrUniform::Normal => normal(0.0, stdev),
                    NormalOrUniform::Uniform => uniform(-3f64.sqrt() * stdev, 3f64.sqrt() * stdev),
                }
            }
        };
        Var::from_tensor(&start?)
    }
}
