//! Convolutions by their number of spatial dimensions.

use crate::family::window::{batched, per_dim};
use crate::functional::nn::conv_arguments::Arguments;
use crate::ops::prelude::*;

functions! {
    conv1d, conv1d_named_padding, conv_transpose1d, conv2d, conv2d_named_padding, conv_transpose2d, conv3d,
    conv3d_named_padding, conv_transpose3d,
}

/// Convolves what may lack a batch dimension.
#[track_caller]
fn convolve(
    op: &'static str,
    spatial: usize,
    [input, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    windows: [&[i64]; 3],
    groups: i64,
) -> Result<Tensor> {
    let arguments = Arguments::new(op, spatial, windows, groups)?;
    batched(op, input, spatial, |input| arguments.convolve(input, weight, bias))
}

/// As [`convolve`], with padding by name.
#[track_caller]
fn convolve_named(
    op: &'static str,
    spatial: usize,
    [input, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    [stride, dilation]: [&[i64]; 2],
    padding: &str,
    groups: i64,
) -> Result<Tensor> {
    let arguments = Arguments::new(op, spatial, [stride, &[0], dilation], groups)?;
    batched(op, input, spatial, |input| match padding {
        "valid" => arguments.convolve(input, weight, bias),
        "same" => arguments.convolve_same(input, weight, bias),
        other => Err(Error::value(op, "padding", other, "numbers, \"same\" or \"valid\"")),
    })
}

/// Convolves transposed what may lack a batch dimension.
#[track_caller]
fn transpose(
    op: &'static str,
    spatial: usize,
    [input, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    windows: [&[i64]; 3],
    output_padding: &[i64],
    groups: i64,
) -> Result<Tensor> {
    let arguments = Arguments::new(op, spatial, windows, groups)?;
    let extra = per_dim(op, "output_padding", output_padding, spatial, 0)?;
    batched(op, input, spatial, |input| arguments.transpose(input, weight, bias, extra))
}

/// The convolution of `input [batch, channels, length]` (the batch may be missing) with `weight [out, channels / groups, ..]`, as
/// neural networks call it: the kernel is not mirrored. `bias` has a number for each of the `out` channels. Each argument of
/// windows is one number, or one for each spatial dimension; `padding` zeros are added before and after.
///
/// # Errors
/// For channels that do not fit, a kernel larger than the padded input, and strides, dilations or groups below 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 2.0, 3.0, 4.0]]], &Device::Cpu)?;
/// let w = Tensor::new(&[[[1f32, 1.0]]], &Device::Cpu)?;
/// let y = opforge::functional::conv1d(&x, &w, None, &[2], &[0], &[1], 1)?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[3.0, 7.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], dilation = &[1], groups = 1)]
#[python(torch, nn)]
pub fn conv1d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve(OP, 1, [input, weight], bias, [stride, padding, dilation], groups)
}

/// [`conv1d`] with padding by name: `"valid"` adds nothing, `"same"` makes the result as long as the input, for
/// stride 1.
///
/// # Errors
/// As [`conv1d`]; for another name, and for `"same"` with another stride.
#[function(bias = None, stride = &[1], padding = "valid", dilation = &[1], groups = 1)]
#[python(torch, nn, name = "conv1d")]
pub fn conv1d_named_padding(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &str,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve_named(OP, 1, [input, weight], bias, [stride, dilation], padding, groups)
}

/// The transpose of [`conv1d`] as a map of its input: `input [batch, channels, length]` (the batch may be missing)
/// times `weight [channels, out / groups, ..]`. The result has
/// `(length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1` positions along each dimension.
///
/// # Errors
/// For channels that do not fit, a result without positions, an `output_padding` as large as stride and dilation, and strides,
/// dilations or groups below 1.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 2.0]]], &Device::Cpu)?;
/// let w = Tensor::new(&[[[1f32, 10.0]]], &Device::Cpu)?;
/// let y = opforge::functional::conv_transpose1d(&x, &w, None, &[2], &[0], &[0], 1, &[1])?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[1.0, 10.0, 2.0, 20.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], output_padding = &[0], groups = 1, dilation = &[1])]
#[python(torch, nn)]
pub fn conv_transpose1d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<Tensor> {
    transpose(OP, 1, [input, weight], bias, [stride, padding, dilation], output_padding, groups)
}

/// The convolution of `input [batch, channels, height, width]` (the batch may be missing): otherwise as [`conv1d`].
///
/// # Errors
/// As [`conv1d`].
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((1, 1, 3, 3), DType::F32, &Device::Cpu)?;
/// let w = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
/// let y = opforge::functional::conv2d(&x, &w, None, &[1], &[1], &[1], 1)?;
/// assert_eq!(y.get(0)?.get(0)?.get(1)?.to_vec1::<f32>()?, [2.0, 4.0, 4.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], dilation = &[1], groups = 1)]
#[python(torch, nn)]
pub fn conv2d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve(OP, 2, [input, weight], bias, [stride, padding, dilation], groups)
}

/// [`conv2d`] with padding by name: `"valid"` adds nothing, `"same"` makes the result as long as the input, for
/// stride 1.
///
/// # Errors
/// As [`conv2d`]; for another name, and for `"same"` with another stride.
#[function(bias = None, stride = &[1], padding = "valid", dilation = &[1], groups = 1)]
#[python(torch, nn, name = "conv2d")]
pub fn conv2d_named_padding(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &str,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve_named(OP, 2, [input, weight], bias, [stride, dilation], padding, groups)
}

/// The transpose of [`conv2d`] as a map of its input: `input [batch, channels, height, width]` (the batch may be missing): otherwise as
/// [`conv_transpose1d`].
///
/// # Errors
/// As [`conv_transpose1d`].
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
/// let w = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
/// let y = opforge::functional::conv_transpose2d(&x, &w, None, &[1], &[0], &[0], 1, &[1])?;
/// assert_eq!(y.get(0)?.get(0)?.to_vec2::<f32>()?, [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], output_padding = &[0], groups = 1, dilation = &[1])]
#[python(torch, nn)]
pub fn conv_transpose2d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<Tensor> {
    transpose(OP, 2, [input, weight], bias, [stride, padding, dilation], output_padding, groups)
}

/// The convolution of `input [batch, channels, depth, height, width]` (the batch may be missing): otherwise as [`conv1d`].
///
/// # Errors
/// As [`conv1d`].
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((1, 2, 3, 3, 3), DType::F32, &Device::Cpu)?;
/// let w = Tensor::ones((4, 2, 3, 3, 3), DType::F32, &Device::Cpu)?;
/// let y = opforge::functional::conv3d(&x, &w, None, &[1], &[0], &[1], 1)?;
/// assert_eq!((y.dims(), y.max_all()?.to_scalar::<f32>()?), (&[1, 4, 1, 1, 1][..], 54.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], dilation = &[1], groups = 1)]
#[python(torch, nn)]
pub fn conv3d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve(OP, 3, [input, weight], bias, [stride, padding, dilation], groups)
}

/// [`conv3d`] with padding by name: `"valid"` adds nothing, `"same"` makes the result as long as the input, for
/// stride 1.
///
/// # Errors
/// As [`conv3d`]; for another name, and for `"same"` with another stride.
#[function(bias = None, stride = &[1], padding = "valid", dilation = &[1], groups = 1)]
#[python(torch, nn, name = "conv3d")]
pub fn conv3d_named_padding(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &str,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    convolve_named(OP, 3, [input, weight], bias, [stride, dilation], padding, groups)
}

/// The transpose of [`conv3d`] as a map of its input: `input [batch, channels, depth, height, width]` (the batch may be missing): otherwise as
/// [`conv_transpose1d`].
///
/// # Errors
/// As [`conv_transpose1d`].
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::ones((1, 2, 1, 1, 1), DType::F32, &Device::Cpu)?;
/// let w = Tensor::ones((2, 4, 3, 3, 3), DType::F32, &Device::Cpu)?;
/// let y = opforge::functional::conv_transpose3d(&x, &w, None, &[1], &[1], &[0], 1, &[1])?;
/// assert_eq!((y.dims(), y.max_all()?.to_scalar::<f32>()?), (&[1, 4, 1, 1, 1][..], 2.0));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(bias = None, stride = &[1], padding = &[0], output_padding = &[0], groups = 1, dilation = &[1])]
#[python(torch, nn)]
pub fn conv_transpose3d(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<Tensor> {
    transpose(OP, 3, [input, weight], bias, [stride, padding, dilation], output_padding, groups)
}
