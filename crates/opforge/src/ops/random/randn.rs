//! `randn(size)`: random numbers, normal with mean 0 and standard deviation 1.

use std::f64::consts::FRAC_1_SQRT_2;

use opforge_tile::forms::Random;

use crate::FloatDType;
use crate::arguments::{default_dtype, device_or_default, leaf, size_to_shape};
use crate::ops::prelude::*;

/// The distribution of [`randn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Randn {
    /// The mean.
    pub mean: Scalar,
    /// The standard deviation.
    pub std: Scalar,
}

impl Distribution for Randn {
    const NAME: &'static str = "randn";

    fn form(&self) -> Random {
        Random::Normal { mean: self.mean, std: self.std }
    }

    /// Both parts have half of the variance; the mean is real.
    fn of_parts(&self) -> Option<[Self; 2]> {
        let std = self.std.to_f64() * FRAC_1_SQRT_2;
        Some([Randn::of(self.mean.to_f64(), std), Randn::of(0.0, std)])
    }
}

impl Randn {
    /// Normal with this mean and standard deviation.
    pub(crate) fn of(mean: f64, std: f64) -> Self {
        Randn { mean: Scalar::Float(mean), std: Scalar::Float(std) }
    }
}

/// Random numbers, normal with mean 0 and standard deviation 1, of the default dtype unless `dtype` says otherwise. The same seed and calls give the same numbers on
/// any number of threads (Philox 4x32-10; Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). Of complex numbers each part has
/// half of the variance.
///
/// # Errors
/// For dtypes of integers.
///
/// ```
/// let x = opforge::functional::randn(&[2, 3], None, None, None, false)?;
/// assert_eq!(x.dims(), [2, 3]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[operator(DTypes::FLOATS, samples, Randn, gradient = false)]
pub fn randn(
    size: &[i64],
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (shape, dtype) = (size_to_shape(OP, size)?, dtype.unwrap_or(default_dtype()));
    let device = device_or_default(OP, device)?;
    leaf(draw(Randn::of(0.0, 1.0), &shape, dtype, &device, generator.as_ref())?, requires_grad)
}

impl Tensor {
    /// Random numbers, normal with this mean and standard deviation.
    ///
    /// # Errors
    /// For a mean or deviation that is not finite, and a negative deviation.
    #[track_caller]
    pub fn randn<S: Into<Shape>, T: FloatDType>(mean: T, std: T, shape: S, device: &Device) -> Result<Tensor> {
        draw(Randn::of(mean.to_f64(), std.to_f64()), &shape.into(), T::DTYPE, device, None)
    }

    /// Random numbers, normal with this mean and standard deviation, with this tensor's shape, dtype and device.
    ///
    /// # Errors
    /// For a mean or deviation that is not finite, and a negative deviation.
    #[track_caller]
    pub fn randn_like(&self, mean: f64, std: f64) -> Result<Tensor> {
        draw_like(Randn::of(mean, std), self, self.dtype(), None)
    }
}

/// Sure cases only: no deviation. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let call = |_: &[&Tensor]| draw(Randn::of(1.5, 0.0), &[3, 4].into(), DType::F64, &Device::Cpu, None);
    vec![Sample::composed("randn", call, vec![], |_| Array::from_fn(&[3, 4], |_| 1.5)).rough()]
}
