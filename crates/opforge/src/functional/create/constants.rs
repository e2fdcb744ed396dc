//! New tensors of one number.

use crate::arguments::{default_dtype, device_or_default, leaf, size_to_shape};
use crate::autograd::no_grad;
use crate::functional as f;
use crate::ops::prelude::*;

functions! { zeros, ones, empty, empty_strided, eye, new_zeros, new_ones, new_empty, new_full }

/// Zeros, of the default dtype unless `dtype` says otherwise.
///
/// # Errors
/// For negative sizes.
///
/// ```
/// let x = opforge::functional::zeros(&[2], None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
pub fn zeros(size: &[i64], dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    constant(OP, 0, size, dtype, device, requires_grad)
}

/// Ones, of the default dtype unless `dtype` says otherwise.
///
/// # Errors
/// For negative sizes.
///
/// ```
/// let x = opforge::functional::ones(&[2], None, None, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
pub fn ones(size: &[i64], dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    constant(OP, 1, size, dtype, device, requires_grad)
}

/// A tensor of this size for others to fill. Until then it holds zeros: no memory of others shows.
///
/// # Errors
/// For negative sizes.
#[function(*, dtype = None, device = None, requires_grad = false)]
pub fn empty(size: &[i64], dtype: Option<DType>, device: Option<Device>, requires_grad: bool) -> Result<Tensor> {
    constant(OP, 0, size, dtype, device, requires_grad)
}

/// As [`empty`], with the elements of each dimension so far apart as `stride` says.
///
/// # Errors
/// For negative sizes and strides, and unless there are as many of both.
///
/// ```
/// let x = opforge::functional::empty_strided(&[2, 3], &[1, 2], None, None, false)?;
/// assert_eq!((x.dims(), x.stride()), (&[2, 3][..], &[1, 2][..]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(torch)]
pub fn empty_strided(
    size: &[i64],
    stride: &[i64],
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    if size.len() != stride.len() {
        return Err(Error::value(OP, "stride", format!("{stride:?}"), format!("{} numbers", size.len())));
    }
    let reach = size.iter().zip(stride).map(|(n, s)| n.saturating_sub(1).saturating_mul(*s));
    let count = if size.contains(&0) { 0 } else { reach.fold(1, i64::saturating_add) };
    let memory = empty(&[count], dtype, device, false)?;
    leaf(f::as_strided(&memory, size, stride, None)?, requires_grad)
}

/// The `n` by `m` matrix with ones on the diagonal and zeros elsewhere; square without `m`.
///
/// # Errors
/// For negative sizes.
///
/// ```
/// let x = opforge::functional::eye(2, None, None, None, false)?;
/// assert_eq!(x.to_vec2::<f32>()?, [[1.0, 0.0], [0.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(m = None, *, dtype = None, device = None, requires_grad = false)]
pub fn eye(
    n: i64,
    m: Option<i64>,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let shape = size_to_shape(OP, &[n, m.unwrap_or(n)])?;
    let device = device_or_default(OP, device)?;
    let eye = Tensor::zeros(shape, dtype.unwrap_or(default_dtype()), &device)?;
    no_grad(|| f::diagonal(&eye, 0, 0, 1)?.const_set(1i64.into()))?;
    leaf(eye, requires_grad)
}

/// Zeros of a size, with this tensor's dtype and device unless others are given.
///
/// # Errors
/// For negative sizes.
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(method)]
pub fn new_zeros(
    input: &Tensor,
    size: &[i64],
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    constant(OP, 0, size, dtype.or(Some(input.dtype())), device.or(Some(*input.device())), requires_grad)
}

/// Ones of a size, with this tensor's dtype and device unless others are given.
///
/// # Errors
/// For negative sizes.
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(method)]
pub fn new_ones(
    input: &Tensor,
    size: &[i64],
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    constant(OP, 1, size, dtype.or(Some(input.dtype())), device.or(Some(*input.device())), requires_grad)
}

/// A tensor of a size for others to fill, with this tensor's dtype and device unless others are given.
///
/// # Errors
/// For negative sizes.
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(method)]
pub fn new_empty(
    input: &Tensor,
    size: &[i64],
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    constant(OP, 0, size, dtype.or(Some(input.dtype())), device.or(Some(*input.device())), requires_grad)
}

/// One number in a size, with this tensor's dtype and device unless others are given.
///
/// # Errors
/// For negative sizes.
#[function(*, dtype = None, device = None, requires_grad = false)]
#[python(method)]
pub fn new_full(
    input: &Tensor,
    size: &[i64],
    fill_value: Scalar,
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (dtype, device) = (dtype.unwrap_or(input.dtype()), device.unwrap_or(*input.device()));
    f::full(size, fill_value, Some(dtype), Some(device), requires_grad)
}

#[track_caller]
fn constant(
    op: &'static str,
    value: i64,
    size: &[i64],
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
) -> Result<Tensor> {
    let (shape, dtype) = (size_to_shape(op, size)?, dtype.unwrap_or(default_dtype()));
    leaf(Tensor::full_scalar(Scalar::Int(value), shape, dtype, &device_or_default(op, device)?)?, requires_grad)
}
