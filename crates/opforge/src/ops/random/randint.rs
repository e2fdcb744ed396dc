//! `randint(low, high, size)`: random integers.

use opforge_tile::forms::Random;

use crate::arguments::{device_or_default, leaf, size_to_shape};
use crate::ops::prelude::*;

/// The distribution of [`randint`]: integers from `low` to before `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct RandInt {
    /// The least value.
    pub low: i64,
    /// The end of the range, exclusive.
    pub high: i64,
}

impl Distribution for RandInt {
    const NAME: &'static str = "randint";

    fn form(&self) -> Random {
        Random::Integers { low: self.low, high: self.high }
    }
}

/// Random integers from `low` to before `high`, all equally likely, in i64 unless `dtype` says otherwise.
///
/// # Errors
/// For an empty range, and one beyond the dtype's.
///
/// ```
/// let x = opforge::functional::randint(3, 5, &[100], None, None, None, false)?.to_vec1::<i64>()?;
/// assert!(x.contains(&3) && x.contains(&4) && x.iter().all(|x| (3..5).contains(x)));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[operator(DTypes::NUMERIC, samples, RandInt, gradient = false)]
pub fn randint(
    low: i64,
    high: i64,
    size: &[i64],
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (shape, dtype) = (size_to_shape(OP, size)?, dtype.unwrap_or(DType::I64));
    let device = device_or_default(OP, device)?;
    if dtype == DType::Bool && 0 <= low && high <= 2 {
        let drawn = draw(RandInt { low, high }, &shape, DType::U8, &device, generator.as_ref())?;
        return leaf(drawn.to_dtype(dtype)?, requires_grad);
    }
    leaf(draw(RandInt { low, high }, &shape, dtype, &device, generator.as_ref())?, requires_grad)
}

/// Sure cases only: a range of one number. The tests of the random kernels look at the distribution.
fn samples() -> Vec<Sample> {
    let call = |_: &[&Tensor]| draw(RandInt { low: 3, high: 4 }, &[3, 4].into(), DType::I64, &Device::Cpu, None);
    vec![Sample::composed("randint", call, vec![], |_| Array::from_fn(&[3, 4], |_| 3.0)).rough()]
}
