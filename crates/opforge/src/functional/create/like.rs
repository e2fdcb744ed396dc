//! New tensors of another tensor's shape.

use crate::arguments::leaf;
use crate::devices::beside;
use crate::ops::prelude::*;
use crate::ops::random::rand::Rand;
use crate::ops::random::randint::RandInt;
use crate::ops::random::randn::Randn;

functions! {
    zeros_like, ones_like, empty_like, full_like, rand_like, randn_like, randint_like, randint_like_below,
    randint_below,
}

/// Zeros in the input's shape, with its dtype and device unless others are given.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::zeros_like(&x, None, None, false)?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn zeros_like(input: &Tensor, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    full_like(input, Scalar::Int(0), dtype, device, requires_grad)
}

/// Ones in the input's shape, with its dtype and device unless others are given.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::ones_like(&x, None, None, false)?.to_vec1::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn ones_like(input: &Tensor, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    full_like(input, Scalar::Int(1), dtype, device, requires_grad)
}

/// A tensor for others to fill, zeros until then, in the input's shape, with its dtype and device unless others are given.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::empty_like(&x, None, None, false)?.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn empty_like(input: &Tensor, dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    full_like(input, Scalar::Int(0), dtype, device, requires_grad)
}

/// One number in the input's shape, with its dtype and device unless others are given.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[3f32, 4.0], &Device::Cpu)?;
/// assert_eq!(opforge::functional::full_like(&x, 7i64.into(), None, None, false)?.to_vec1::<f32>()?, [7.0, 7.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn full_like(
    input: &Tensor,
    fill_value: Scalar,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (dtype, device) = like(input, dtype, device);
    let _beside = beside(input);
    let make = |input: &Tensor| Tensor::full_scalar(fill_value, input.shape(), dtype, &device)?.placed_like(input);
    leaf(in_order_of(input, make)?, requires_grad)
}

/// Random numbers, uniform in `[0, 1)`, in the input's shape, with its dtype and device unless others are given.
///
/// # Errors
/// For dtypes that cannot hold them.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn rand_like(
    input: &Tensor,
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    drawn_like(Rand::of(0.0, 1.0), input, generator.as_ref(), like(input, dtype, device), requires_grad)
}

/// Random numbers, normal with mean 0 and standard deviation 1, in the input's shape, with its dtype and device unless others are given.
///
/// # Errors
/// For dtypes that cannot hold them.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn randn_like(
    input: &Tensor,
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    drawn_like(Randn::of(0.0, 1.0), input, generator.as_ref(), like(input, dtype, device), requires_grad)
}

/// Random integers from `low` to before `high` in the input's shape, with its dtype and device unless others are given.
///
/// # Errors
/// For dtypes that cannot hold them.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn randint_like(
    input: &Tensor,
    low: i64,
    high: i64,
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    drawn_like(RandInt { low, high }, input, generator.as_ref(), like(input, dtype, device), requires_grad)
}

/// [`randint_like`] from 0.
///
/// # Errors
/// For dtypes that cannot hold them.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch, name = "randint_like")]
pub fn randint_like_below(
    input: &Tensor,
    high: i64,
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    randint_like(input, 0, high, generator, dtype, device, requires_grad)
}

/// Integers from `low` to before `high`: [`randint`](fn@crate::functional::randint) from 0.
///
/// # Errors
/// For an empty range, and one beyond the dtype's.
#[function(*, generator = None, dtype = None, device = None, requires_grad = false)]
#[python(torch, name = "randint")]
pub fn randint_below(
    high: i64,
    size: &[i64],
    generator: Option<Generator>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    crate::functional::randint(0, high, size, generator, dtype, device, requires_grad)
}

/// Random numbers of a dtype on a device that lie as the input's.
#[track_caller]
fn drawn_like<D: Distribution>(
    distribution: D,
    input: &Tensor,
    generator: Option<&Generator>,
    (dtype, device): (DType, Device),
    requires_grad: bool,
) -> Result<Tensor> {
    let _beside = beside(input);
    let make = |input: &Tensor| draw(distribution, input.shape(), dtype, &device, generator)?.placed_like(input);
    leaf(in_order_of(input, make)?, requires_grad)
}

/// The dtype and device of a tensor, unless others are given.
fn like(input: &Tensor, dtype: Option<DType>, device: Option<Device>) -> (DType, Device) {
    (dtype.unwrap_or(input.dtype()), device.unwrap_or(*input.device()))
}
