//! `randn(size)`: random numbers, normal with mean 0 and standard deviation 1.

use crate::FloatDType;
use crate::functional::size_to_shape;
use crate::operator::prelude::*;

/// The operator of [`randn`]; its input is the draw's key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Randn {
    /// The mean.
    pub mean: Scalar,
    /// The standard deviation.
    pub std: Scalar,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
}

impl Operator for Randn {
    fn name(&self) -> &'static str {
        "randn"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("randn", inputs, 1)?;
        self.shape.check("randn", self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        // Elements depend on their place in the whole.
        let none = |rank| SmallVec::from_elem(None, rank);
        AxisMap { inputs: vec![none(inputs[0].rank())], outputs: vec![none(self.shape.rank())], roles: SmallVec::new() }
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        let (mean, std) = (self.mean.to_f64(), self.std.to_f64());
        opforge_cpu::random::normal("randn", mean, std, inputs[0], outputs[0])
    }

    fn differentiable(&self) -> bool {
        false
    }
}

#[track_caller]
fn draw(mean: f64, std: f64, shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
    let (mean, std) = (Scalar::Float(mean), Scalar::Float(std));
    dispatch1(&Randn { mean, std, shape, dtype }, &[&super::bernoulli::next_key(device)?])
}

function! {
    /// Random numbers, normal with mean 0 and standard deviation 1, f32 unless `dtype` says otherwise. The same seed and calls give the same numbers on any number of threads
    /// (Philox 4x32-10; Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
    ///
    /// # Errors
    /// For dtypes other than floats.
    ///
    /// ```
    /// # use opforge::Device;
    /// let x = opforge::functional::randn(&[2, 3], None, None)?;
    /// assert_eq!(x.dims(), [2, 3]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn randn(size: &[i64]; dtype: Option<DType> = None, device: Option<Device> = None) -> Result<Tensor> {
        let shape = size_to_shape("randn", size)?;
        draw(0.0, 1.0, shape, dtype.unwrap_or(DType::F32), &device.unwrap_or(Device::Cpu))
    }
}

impl Tensor {
    /// Random numbers, normal with this mean and standard deviation.
    ///
    /// # Errors
    /// For a mean or deviation that is not finite, and a negative deviation.
    #[track_caller]
    pub fn randn<S: Into<Shape>, T: FloatDType>(mean: T, std: T, shape: S, device: &Device) -> Result<Tensor> {
        draw(mean.to_f64(), std.to_f64(), shape.into(), T::DTYPE, device)
    }

    /// Random numbers, normal with this mean and standard deviation, with this tensor's shape, dtype and device.
    ///
    /// # Errors
    /// For a mean or deviation that is not finite, and a negative deviation.
    #[track_caller]
    pub fn randn_like(&self, mean: f64, std: f64) -> Result<Tensor> {
        draw(mean, std, self.shape().clone(), self.dtype(), self.device())
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: "randn", function: &FUNCTION, dtypes: DTypes::FLOATS, samples };

/// Sure cases only: no deviation. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let call = |_: &[&Tensor]| draw(1.5, 0.0, [3, 4].into(), DType::F64, &Device::Cpu);
    vec![Sample::composed("randn", call, vec![], |_| Array::from_fn(&[3, 4], |_| 1.5)).rough()]
}
