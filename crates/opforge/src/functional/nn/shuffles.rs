//! Pixel shuffles, which move elements between channels and space, and channel shuffles.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { pixel_shuffle, pixel_unshuffle, channel_shuffle }

/// `[.., channels r^2, height, width]` as `[.., channels, height r, width r]`: each square of channels becomes one of points.
///
/// # Errors
/// For channels that are not a multiple of the factor's square.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::arange(0f32, 4.0, &Device::Cpu)?.reshape((4, 1, 1))?;
/// assert_eq!(f::pixel_shuffle(&x, 2)?.to_vec3::<f32>()?, [[[0.0, 1.0], [2.0, 3.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn)]
pub fn pixel_shuffle(input: &Tensor, upscale_factor: i64) -> Result<Tensor> {
    let (lead, [channels, height, width], r) = image(OP, input, upscale_factor)?;
    ensure(channels.is_multiple_of(r * r), || {
        wrong_shape(OP, "input", input.shape(), format!("a multiple of {} channels", r * r))
    })?;
    let n = lead.iter().product::<usize>();
    let parts = input.reshape(&[n, channels / (r * r), r, r, height, width][..])?;
    let moved = parts.permute((0, 1, 4, 2, 5, 3))?;
    f::apart(moved.reshape([lead, &[channels / (r * r), height * r, width * r]].concat())?, input)
}

/// `[.., channels, height r, width r]` as `[.., channels r^2, height, width]`: undoes [`pixel_shuffle`].
///
/// # Errors
/// For a height or width that is not a multiple of the factor.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::arange(0f32, 4.0, &Device::Cpu)?.reshape((1, 2, 2))?;
/// assert_eq!(f::pixel_unshuffle(&x, 2)?.dims(), [4, 1, 1]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn)]
pub fn pixel_unshuffle(input: &Tensor, downscale_factor: i64) -> Result<Tensor> {
    let (lead, [channels, height, width], r) = image(OP, input, downscale_factor)?;
    ensure(height.is_multiple_of(r) && width.is_multiple_of(r), || {
        wrong_shape(OP, "input", input.shape(), format!("multiples of {r} for height and width"))
    })?;
    let n = lead.iter().product::<usize>();
    let parts = input.reshape(&[n, channels, height / r, r, width / r, r][..])?;
    let moved = parts.permute((0, 1, 3, 5, 2, 4))?;
    f::apart(moved.reshape([lead, &[channels * r * r, height / r, width / r]].concat())?, input)
}

/// The channels (the second dimension), in `groups` groups, interleaved: the first of each group, then the second of each, and so on.
///
/// # Errors
/// For a number of channels that the groups do not divide.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[0f32, 1.0, 2.0, 3.0]], &Device::Cpu)?;
/// assert_eq!(f::channel_shuffle(&x, 2)?.to_vec2::<f32>()?, [[0.0, 2.0, 1.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch, nn)]
pub fn channel_shuffle(input: &Tensor, groups: i64) -> Result<Tensor> {
    let channels = input.dims().get(1).copied().unwrap_or(0);
    let groups = usize::try_from(groups).ok().filter(|&g| g > 0 && channels.is_multiple_of(g));
    let Some(groups) = groups.filter(|_| input.rank() >= 2) else {
        return Err(wrong_shape(OP, "input", input.shape(), "[n, channels, ..] that the groups divide"));
    };
    let grouped = [&input.dims()[..1], &[groups, channels / groups], &input.dims()[2..]].concat();
    f::apart(input.reshape(grouped)?.transpose(1, 2)?.reshape(input.shape())?, input)
}

/// The dimensions before the last three, those, and a factor.
fn image<'a>(op: &'static str, input: &'a Tensor, factor: i64) -> Result<(&'a [usize], [usize; 3], usize)> {
    let factor = usize::try_from(factor).ok().filter(|f| (1..=1 << 16).contains(f));
    let factor = factor.ok_or_else(|| Error::value(op, "factor", "out of range", "1 to 65536"))?;
    match input.dims() {
        [lead @ .., channels, height, width] => Ok((lead, [*channels, *height, *width], factor)),
        _ => Err(wrong_shape(op, "input", input.shape(), "[.., channels, height, width]")),
    }
}
