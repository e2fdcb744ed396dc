//! `rand(size)`: random numbers, uniform in `[0, 1)`.

use crate::FloatDType;
use crate::functional::size_to_shape;
use crate::operator::prelude::*;

/// The operator of [`rand`]; its input is the draw's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rand {
    /// The least value.
    pub low: Scalar,
    /// The end of the range, exclusive.
    pub high: Scalar,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
}

impl Operator for Rand {
    fn name(&self) -> &'static str {
        "rand"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("rand", inputs, 1)?;
        self.shape.check("rand", self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        // Elements depend on their place in the whole.
        let none = |rank| SmallVec::from_elem(None, rank);
        AxisMap { inputs: vec![none(inputs[0].rank())], outputs: vec![none(self.shape.rank())], roles: SmallVec::new() }
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        let (low, high) = (self.low.to_f64(), self.high.to_f64());
        opforge_cpu::random::uniform("rand", low, high, inputs[0], outputs[0])
    }

    fn differentiable(&self) -> bool {
        false
    }
}

#[track_caller]
fn draw(low: f64, high: f64, shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
    let (low, high) = (Scalar::Float(low), Scalar::Float(high));
    dispatch1(&Rand { low, high, shape, dtype }, &[&super::bernoulli::next_key(device)?])
}

function! {
    /// Random numbers, uniform in `[0, 1)`, f32 unless `dtype` says otherwise. The same seed and calls give the same numbers on any number of threads
    /// (Philox 4x32-10; Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
    ///
    /// # Errors
    /// For dtypes other than floats.
    ///
    /// ```
    /// # use opforge::Device;
    /// let x = opforge::functional::rand(&[2, 3], None, None)?;
    /// assert_eq!(x.dims(), [2, 3]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn rand(size: &[i64]; dtype: Option<DType> = None, device: Option<Device> = None) -> Result<Tensor> {
        let shape = size_to_shape("rand", size)?;
        draw(0.0, 1.0, shape, dtype.unwrap_or(DType::F32), &device.unwrap_or(Device::Cpu))
    }
}

impl Tensor {
    /// Random numbers, uniform in `[low, high)`.
    ///
    /// # Errors
    /// For bounds that are not finite or not in order.
    #[track_caller]
    pub fn rand<S: Into<Shape>, T: FloatDType>(low: T, high: T, shape: S, device: &Device) -> Result<Tensor> {
        draw(low.to_f64(), high.to_f64(), shape.into(), T::DTYPE, device)
    }

    /// Random numbers, uniform in `[low, high)`, with this tensor's shape, dtype and device.
    ///
    /// # Errors
    /// For bounds that are not finite or not in order.
    #[track_caller]
    pub fn rand_like(&self, low: f64, high: f64) -> Result<Tensor> {
        draw(low, high, self.shape().clone(), self.dtype(), self.device())
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: "rand", function: &FUNCTION, dtypes: DTypes::FLOATS, samples };

/// Sure cases only: a range of one number. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let call = |_: &[&Tensor]| draw(1.5, 1.5, [3, 4].into(), DType::F64, &Device::Cpu);
    vec![Sample::composed("rand", call, vec![], |_| Array::from_fn(&[3, 4], |_| 1.5)).rough()]
}
