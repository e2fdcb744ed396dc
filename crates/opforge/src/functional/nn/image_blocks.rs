//! Sliding blocks of images as columns, and back.

use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::shape::unfold::{Unfold, folded};

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

    /// How many blocks there are along a padded dimension.
    #[track_caller]
    fn count(&self, k: usize, padded: usize) -> Result<usize> {
        let reach = (self.block[k] - 1) * self.dilation[k] + 1;
        let free = padded.checked_sub(reach);
        let free =
            free.ok_or_else(|| Error::value("fold", "kernel_size", reach, format!("a block within {padded}")))?;
        Ok(free / self.stride[k] + 1)
    }

    /// Windows along the height, then along the width: in the columns' order, so that their gradients are runs of memory.
    #[track_caller]
    fn columns(&self, x: &Tensor) -> Result<Tensor> {
        let pad = |k: usize| self.padding[k] as i64;
        let padded = f::pad(x, &[pad(1), pad(1), pad(0), pad(0)], "constant", None)?;
        let lines = self.windows(&padded, 2, 0)?.permute((0, 1, 4, 2, 3))?;
        let windows = self.windows(&lines, 4, 1)?.permute((0, 1, 2, 5, 3, 4))?;
        let &[n, channels, height, width, rows, columns] = windows.dims() else {
            return Err(wrong_shape("unfold", "input", x.shape(), "[n, channels, height, width]"));
        };
        windows.reshape((n, channels * height * width, rows * columns))
    }

    /// The elements of the blocks along a dimension, in a new last one.
    #[track_caller]
    fn windows(&self, x: &Tensor, dim: usize, k: usize) -> Result<Tensor> {
        let reach = (self.block[k] - 1) * self.dilation[k] + 1;
        let windows = x.unfold(dim, reach, self.stride[k])?;
        if self.dilation[k] == 1 { Ok(windows) } else { windows.slice(x.rank(), 0, reach, self.dilation[k]) }
    }

    /// Each element of the columns is added at the place that it has in a padded image: along the width, then along the height.
    #[track_caller]
    fn summed(&self, x: &Tensor, height: usize, width: usize) -> Result<Tensor> {
        let (h, w) = (height + 2 * self.padding[0], width + 2 * self.padding[1]);
        Shape::from([h, w]).check("fold", 8)?;
        let (rows, columns) = (self.count(0, h)?, self.count(1, w)?);
        let area = self.block[0] * self.block[1];
        let (n, wide, blocks) = x.shape().dims3()?;
        ensure(wide.is_multiple_of(area) && blocks == rows * columns, || {
            wrong_shape("fold", "input", x.shape(), format!("[n, channels {area}, {}]", rows * columns))
        })?;
        let along = |dim: usize, k: usize| Unfold { dim, size: self.block[k], step: self.stride[k] };
        let all = x.reshape(&[n, wide / area, self.block[0], self.block[1], rows, columns][..])?;
        let lines = folded(&all.permute((0, 1, 2, 4, 5, 3))?, &along(4, 1), self.dilation[1], w)?;
        let image = folded(&lines.permute((0, 1, 3, 4, 2))?, &along(2, 0), self.dilation[0], h)?;
        image.narrow(2, self.padding[0], height)?.narrow(3, self.padding[1], width)?.contiguous()
    }
}
