//! `rand(size)`: random numbers, uniform in `[0, 1)`.

use opforge_tile::forms::Random;

use crate::FloatDType;
use crate::arguments::{default_dtype, device_or_default, leaf, size_to_shape};
use crate::ops::prelude::*;

/// The distribution of [`rand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct Rand {
    /// The least value.
    pub low: Scalar,
    /// The end of the range, exclusive.
    pub high: Scalar,
}

impl Distribution for Rand {
    const NAME: &'static str = "rand";

    fn form(&self) -> Random {
        Random::Uniform { low: self.low, high: self.high }
    }

    fn of_parts(&self) -> Option<[Self; 2]> {
        Some([*self; 2])
    }
}

impl Rand {
    /// Uniform in `[low, high)`.
    pub(crate) fn of(low: f64, high: f64) -> Self {
        Rand { low: Scalar::Float(low), high: Scalar::Float(high) }
    }
}

/// Random numbers, uniform in `[0, 1)`, of the default dtype unless `dtype` says otherwise. The same seed and calls give the same numbers on
/// any number of threads (Philox 4x32-10; Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). Both parts of complex numbers are
/// such numbers.
///
/// # Errors
/// For dtypes of integers.
///
/// ```
/// let x = opforge::functional::rand(&[2, 3], None, None, None, false)?;
/// assert_eq!(x.dims(), [2, 3]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[operator(DTypes::FLOATS, samples, Rand, gradient = false)]
pub fn rand(
    size: &[i64],
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (shape, dtype) = (size_to_shape(OP, size)?, dtype.unwrap_or(default_dtype()));
    let device = device_or_default(OP, device)?;
    leaf(draw(Rand::of(0.0, 1.0), &shape, dtype, &device, generator.as_ref())?, requires_grad)
}

impl Tensor {
    /// Random numbers, uniform in `[low, high)`.
    ///
    /// # Errors
    /// For bounds that are not finite or not in order.
    #[track_caller]
    pub fn rand<S: Into<Shape>, T: FloatDType>(low: T, high: T, shape: S, device: &Device) -> Result<Tensor> {
        draw(Rand::of(low.to_f64(), high.to_f64()), &shape.into(), T::DTYPE, device, None)
    }

    /// Random numbers, uniform in `[low, high)`, with this tensor's shape, dtype and device.
    ///
    /// # Errors
    /// For bounds that are not finite or not in order.
    #[track_caller]
    pub fn rand_like(&self, low: f64, high: f64) -> Result<Tensor> {
        draw_like(Rand::of(low, high), self, self.dtype(), None)
    }
}

/// Sure cases only: a range of one number. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let call = |_: &[&Tensor]| draw(Rand::of(1.5, 1.5), &[3, 4].into(), DType::F64, &Device::Cpu, None);
    vec![Sample::composed("rand", call, vec![], |_| Array::from_fn(&[3, 4], |_| 1.5)).rough()]
}
