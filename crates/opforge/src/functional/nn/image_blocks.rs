//! Sliding blocks of images as columns, and back.

use crate::functional as f;
use crate::ops::prelude::*;

functions! { unfold_blocks, fold }

/// The sliding blocks of images, `[n, channels, height, width]` or without `n`, as columns: `[n, channels block, blocks]`.
///
/// # Errors
/// For a block that does not fit, and sizes that are not one number or two.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::arange(0f32, 4.0, &Device::Cpu)?.reshape((1, 1, 2, 2))?;
/// let columns = f::unfold_blocks(&x, &[1, 2], &[1], &[0], &[1])?;
/// assert_eq!(columns.to_vec3::<f32>()?, [[[0.0, 2.0], [1.0, 3.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dilation = &[1], padding = &[0], stride = &[1])]
#[python(nn, name = "unfold")]
pub fn unfold_blocks(
    input: &Tensor,
    kernel_size: &[i64],
    dilation: &[i64],
    padding: &[i64],
    stride: &[i64],
) -> Result<Tensor> {
    let sizes = Sizes::new(OP, kernel_size, dilation, padding, stride)?;
    match input.rank() {
        3 => sizes.columns(&input.unsqueeze(0)?)?.squeeze(0),
        4 => sizes.columns(input),
        _ => Err(wrong_shape(OP, "input", input.shape(), "[n, channels, height, width]")),
    }
}

/// Columns, as [`unfold_blocks`] makes them, summed where their blocks lie in images of `output_size`.
///
/// # Errors
/// For columns of another number or length than the blocks.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let columns = Tensor::ones((1, 2, 2), DType::F32, &Device::Cpu)?;
/// let y = f::fold(&columns, &[1, 3], &[1, 2], &[1], &[0], &[1])?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 2.0, 1.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(dilation = &[1], padding = &[0], stride = &[1])]
#[python(nn)]
pub fn fold(
    input: &Tensor,
    output_size: &[i64],
    kernel_size: &[i64],
    dilation: &[i64],
    padding: &[i64],
    stride: &[i64],
) -> Result<Tensor> {
    let sizes = Sizes::new(OP, kernel_size, dilation, padding, stride)?;
    let [height, width] = two(OP, "output_size", output_size, 0)?;
    match input.rank() {
        2 => sizes.summed(&input.unsqueeze(0)?, height, width)?.squeeze(0),
        3 => sizes.summed(input, height, width),
        _ => Err(wrong_shape(OP, "input", input.shape(), "[n, channels block, blocks]")),
    }
}

/// Of height and width each.
struct Sizes {
    block: [usize; 2],
    dilation: [usize; 2],
    padding: [usize; 2],
    stride: [usize; 2],
}

/// One number for both, or two, at least `least`.
fn two(op: &'static str, argument: &'static str, given: &[i64], least: i64) -> Result<[usize; 2]> {
    let both = match *given {
        [one] => [one, one],
        [a, b] => [a, b],
        _ => [-1, -1],
    };
    ensure(both.iter().all(|n| (least..1 << 31).contains(n)), || {
        Error::value(op, argument, format!("{given:?}"), format!("one number or two, of at least {least}"))
    })?;
    Ok(both.map(|n| n as usize))
}

impl Sizes {
    fn new(op: &'static str, block: &[i64], dilation: &[i64], padding: &[i64], stride: &[i64]) -> Result<Self> {
        Ok(Sizes {
            block: two(op, "kernel_size", block, 1)?,
            dilation: two(op, "dilation", dilation, 1)?,
            padding: two(op, "padding", padding, 0)?,
            stride: two(op, "stride", stride, 1)?,
        })
    }

    #[track_caller]
    fn columns(&self, x: &Tensor) -> Result<Tensor> {
        let pad = |k: usize| self.padding[k] as i64;
        let padded = f::pad(x, &[pad(1), pad(1), pad(0), pad(0)], "constant", None)?;
        let windows = (0..2).try_fold(padded, |t, k| {
            let reach = (self.block[k] - 1) * self.dilation[k] + 1;
            let t = t.unfold(2 + k, reach, self.stride[k])?;
            t.slice(t.rank() - 1, 0, reach, self.dilation[k])
        })?;
        let &[n, channels, rows, columns, _, _] = windows.dims() else {
            return Err(wrong_shape("unfold", "input", x.shape(), "[n, channels, height, width]"));
        };
        let block = channels * self.block[0] * self.block[1];
        windows.permute((0, 1, 4, 5, 2, 3))?.reshape((n, block, rows * columns))
    }

    /// Each element of the columns is added at the place that it has in a padded image.
    #[track_caller]
    fn summed(&self, x: &Tensor, height: usize, width: usize) -> Result<Tensor> {
        let (h, w) = (height + 2 * self.padding[0], width + 2 * self.padding[1]);
        Shape::from([h, w]).check("fold", 8)?;
        let places = Tensor::arange(0i64, (h * w) as i64, x.device())?.reshape((1, 1, h, w))?;
        let ids = Sizes { padding: [0, 0], ..*self }.columns(&places)?.flatten_all()?;
        let area = self.block[0] * self.block[1];
        let (n, wide, blocks) = x.shape().dims3()?;
        ensure(wide.is_multiple_of(area) && blocks * area == ids.elem_count(), || {
            wrong_shape("fold", "input", x.shape(), format!("[n, channels {area}, {}]", ids.elem_count() / area))
        })?;
        let channels = wide / area;
        let zeros = Tensor::zeros((n * channels, h * w), x.dtype(), x.device())?;
        let sums = zeros.index_add(&ids, &x.reshape((n * channels, area * blocks))?, 1)?;
        let image = sums.reshape((n, channels, h, w))?;
        image.narrow(2, self.padding[0], height)?.narrow(3, self.padding[1], width)?.contiguous()
    }
}
