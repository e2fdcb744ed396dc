//! `bernoulli(p)`: ones with given probabilities, else zeros.

use crate::operator::prelude::*;

/// The operator behind [`bernoulli`] and dropout: ones of one probability. Its input is the draw's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bernoulli {
    /// The probability of a one.
    pub p: Scalar,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
}

impl Operator for Bernoulli {
    fn name(&self) -> &'static str {
        "bernoulli"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("bernoulli", inputs, 1)?;
        self.shape.check("bernoulli", self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        // Elements depend on their place in the whole.
        let none = |rank| SmallVec::from_elem(None, rank);
        AxisMap { inputs: vec![none(inputs[0].rank())], outputs: vec![none(self.shape.rank())], roles: SmallVec::new() }
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        opforge_cpu::random::bernoulli("bernoulli", self.p.to_f64(), inputs[0], outputs[0])
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The key of the next draw, as the random operators take it.
pub(super) fn next_key(device: &Device) -> Result<Tensor> {
    Tensor::from_vec(opforge_runtime::generator::next_key().to_vec(), 2, device)
}

/// Ones with probability `p`, else zeros.
#[track_caller]
pub(super) fn mask(p: f64, shape: &Shape, dtype: DType, device: &Device) -> Result<Tensor> {
    let op = Bernoulli { p: Scalar::Float(p), shape: shape.clone(), dtype };
    dispatch1(&op, &[&next_key(device)?])
}

function! {
    /// Ones and zeros, of the input's shape and dtype: each is 1 with the probability that the input holds there.
    ///
    /// # Errors
    /// For tensors that are not floating-point.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let p = Tensor::new(&[0f32, 1.0], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::bernoulli(&p)?.to_vec1::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn bernoulli(input: &Tensor) -> Result<Tensor> {
        if !input.dtype().is_float() {
            return Err(Error::dtype("bernoulli", "input", input.dtype(), "a floating-point dtype"));
        }
        let uniform = Tensor::rand(0f32, 1.0, input.shape(), input.device())?;
        uniform.lt(&input.detach().to_dtype(DType::F32)?)?.to_dtype(input.dtype())
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition =
    Definition { name: "bernoulli", function: &FUNCTION, dtypes: DTypes::FLOATS, samples };

/// Sure cases only. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let inputs = vec![Array::truths(&[3, 4])];
    let inputs = inputs.into_iter().map(|a| Array { content: Content::Real, ..a }).collect();
    vec![
        Sample::composed("bernoulli", |x| bernoulli(x[0]), inputs, |x| x[0].map(|p| f64::from(u8::from(p >= 1.0))))
            .rough(),
    ]
}
