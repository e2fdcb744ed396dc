//! Pooling by the number of spatial dimensions.

use opforge_cpu::conv::MAX_SPATIAL;
use opforge_cpu::pool::Divisor;

use crate::operator::pool::Pooling;
use crate::operator::prelude::*;
use crate::operator::window::PerDim;
use crate::ops::nn::avg_pool2d::{avg_pool, divisor};
use crate::ops::nn::max_pool2d::max_pool;

/// The windows and lengths of adaptive pooling.
fn adaptive(op: &'static str, spatial: usize, input: &Tensor, size: &[i64]) -> Result<(Pooling, PerDim)> {
    let pooling = Pooling::adaptive(op, spatial);
    let mut lengths = pooling.input_lengths(input)?;
    let wrong = || Error::value(op, "output_size", format!("{size:?}"), format!("1 or {spatial} numbers, -1 or more"));
    if size.len() != 1 && size.len() != spatial {
        return Err(wrong());
    }
    for (i, length) in lengths[MAX_SPATIAL - spatial..].iter_mut().enumerate() {
        match size[if size.len() == 1 { 0 } else { i }] {
            -1 => {}
            n => *length = usize::try_from(n).map_err(|_| wrong())?,
        }
    }
    Ok((pooling, lengths))
}

functions! {
    /// [`max_pool2d`](crate::functional::max_pool2d) over the last dimension of `[batch, channels, ..]`.
    ///
    /// # Errors
    /// As [`max_pool2d`](crate::functional::max_pool2d).
    #[python(torch)]
    pub fn max_pool1d(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
    ) -> Result<Tensor> {
        let pooling = Pooling::new("max_pool1d", 1, kernel_size, stride, [padding, dilation], ceil_mode)?;
        Ok(max_pool(&pooling, input, pooling.lengths(input)?)?.0)
    }

    /// [`max_pool2d`](crate::functional::max_pool2d) over the last three dimensions of `[batch, channels, ..]`.
    ///
    /// # Errors
    /// As [`max_pool2d`](crate::functional::max_pool2d).
    #[python(torch)]
    pub fn max_pool3d(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
    ) -> Result<Tensor> {
        let pooling = Pooling::new("max_pool3d", 3, kernel_size, stride, [padding, dilation], ceil_mode)?;
        Ok(max_pool(&pooling, input, pooling.lengths(input)?)?.0)
    }

    /// [`max_pool1d`], with the places of the greatest elements among those of the last dimension, in i64. `return_indices` changes nothing.
    ///
    /// # Errors
    /// As [`max_pool1d`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 5.0, 2.0, 3.0]], &Device::Cpu)?;
    /// let (y, places) = opforge::functional::max_pool1d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
    /// assert_eq!((y.to_vec2::<f32>()?, places.to_vec2::<i64>()?), (vec![vec![5.0, 3.0]], vec![vec![1, 3]]));
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, nn)]
    pub fn max_pool1d_with_indices(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<(Tensor, Tensor)> {
        let _ = return_indices;
        let pooling = Pooling::new("max_pool1d", 1, kernel_size, stride, [padding, dilation], ceil_mode)?;
        max_pool(&pooling, input, pooling.lengths(input)?)
    }

    /// [`max_pool1d`], or [`max_pool1d_with_indices`] if `return_indices`.
    ///
    /// # Errors
    /// As [`max_pool1d`].
    #[python(nn, name = "max_pool1d")]
    pub fn max_pool1d_returning(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, true)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }

    /// [`max_pool2d`](crate::functional::max_pool2d), with the places of the greatest elements among those of the last two dimensions, in i64. `return_indices` changes nothing.
    ///
    /// # Errors
    /// As [`max_pool2d`](crate::functional::max_pool2d).
    #[python(nn)]
    pub fn max_pool2d_with_indices(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<(Tensor, Tensor)> {
        let _ = return_indices;
        let pooling = Pooling::new("max_pool2d", 2, kernel_size, stride, [padding, dilation], ceil_mode)?;
        max_pool(&pooling, input, pooling.lengths(input)?)
    }

    /// [`max_pool2d`](crate::functional::max_pool2d), or [`max_pool2d_with_indices`] if `return_indices`.
    ///
    /// # Errors
    /// As [`max_pool2d`](crate::functional::max_pool2d).
    #[python(nn, name = "max_pool2d")]
    pub fn max_pool2d_returning(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, true)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }

    /// [`max_pool3d`], with the places of the greatest elements among those of the last three dimensions, in i64. `return_indices` changes nothing.
    ///
    /// # Errors
    /// As [`max_pool3d`].
    #[python(nn)]
    pub fn max_pool3d_with_indices(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<(Tensor, Tensor)> {
        let _ = return_indices;
        let pooling = Pooling::new("max_pool3d", 3, kernel_size, stride, [padding, dilation], ceil_mode)?;
        max_pool(&pooling, input, pooling.lengths(input)?)
    }

    /// [`max_pool3d`], or [`max_pool3d_with_indices`] if `return_indices`.
    ///
    /// # Errors
    /// As [`max_pool3d`].
    #[python(nn, name = "max_pool3d")]
    pub fn max_pool3d_returning(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        dilation: &[i64] = &[1],
        ceil_mode: bool = false,
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, true)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }

    /// [`avg_pool2d`](crate::functional::avg_pool2d) over the last dimension of `[batch, channels, length]`.
    ///
    /// # Errors
    /// As [`avg_pool2d`](crate::functional::avg_pool2d).
    #[python(torch, nn)]
    pub fn avg_pool1d(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        ceil_mode: bool = false,
        count_include_pad: bool = true,
    ) -> Result<Tensor> {
        let pooling = Pooling::new("avg_pool1d", 1, kernel_size, stride, [padding, &[1]], ceil_mode)?;
        avg_pool(&pooling, divisor("avg_pool1d", count_include_pad, None)?, input, pooling.lengths(input)?)
    }

    /// [`avg_pool2d`](crate::functional::avg_pool2d) over the last three dimensions of `[batch, channels, depth, height, width]`.
    ///
    /// # Errors
    /// As [`avg_pool2d`](crate::functional::avg_pool2d).
    #[python(nn)]
    pub fn avg_pool3d(
        input: &Tensor,
        kernel_size: &[i64],
        stride: Option<&[i64]> = None,
        padding: &[i64] = &[0],
        ceil_mode: bool = false,
        count_include_pad: bool = true,
        divisor_override: Option<i64> = None,
    ) -> Result<Tensor> {
        let pooling = Pooling::new("avg_pool3d", 3, kernel_size, stride, [padding, &[1]], ceil_mode)?;
        avg_pool(&pooling, divisor("avg_pool3d", count_include_pad, divisor_override)?, input, pooling.lengths(input)?)
    }

    /// The averages of as many about equal windows as `output_size` says, over the last dimension of `[batch, channels, ..]`. A size of -1 is the
    /// input's.
    ///
    /// # Errors
    /// For an input of another rank or without elements, and sizes below -1.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.0, 6.0]], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::adaptive_avg_pool1d(&x, &[2])?.to_vec2::<f32>()?, [[1.5, 4.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, nn)]
    pub fn adaptive_avg_pool1d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
        let (pooling, lengths) = adaptive("adaptive_avg_pool1d", 1, input, output_size)?;
        avg_pool(&pooling, Divisor::Inside, input, lengths)
    }

    /// The averages of as many about equal windows as `output_size` says, over the last two dimensions of `[batch, channels, ..]`. A size of -1 is the
    /// input's.
    ///
    /// # Errors
    /// For an input of another rank or without elements, and sizes below -1.
    #[python(nn)]
    pub fn adaptive_avg_pool2d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
        let (pooling, lengths) = adaptive("adaptive_avg_pool2d", 2, input, output_size)?;
        avg_pool(&pooling, Divisor::Inside, input, lengths)
    }

    /// The averages of as many about equal windows as `output_size` says, over the last three dimensions of `[batch, channels, ..]`. A size of -1 is the
    /// input's.
    ///
    /// # Errors
    /// For an input of another rank or without elements, and sizes below -1.
    #[python(nn)]
    pub fn adaptive_avg_pool3d(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
        let (pooling, lengths) = adaptive("adaptive_avg_pool3d", 3, input, output_size)?;
        avg_pool(&pooling, Divisor::Inside, input, lengths)
    }

    /// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
    /// [`adaptive_avg_pool1d`].
    ///
    /// # Errors
    /// As [`adaptive_avg_pool1d`].
    #[python(torch)]
    pub fn adaptive_max_pool1d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
        let (pooling, lengths) = adaptive("adaptive_max_pool1d", 1, input, output_size)?;
        max_pool(&pooling, input, lengths)
    }

    /// [`adaptive_max_pool1d`], without the places unless `return_indices`.
    ///
    /// # Errors
    /// As [`adaptive_avg_pool1d`].
    #[python(nn, name = "adaptive_max_pool1d")]
    pub fn adaptive_max_pool1d_returning(
        input: &Tensor,
        output_size: &[i64],
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = adaptive_max_pool1d(input, output_size)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }

    /// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
    /// [`adaptive_avg_pool2d`].
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`].
    #[python(hidden)]
    pub fn adaptive_max_pool2d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
        let (pooling, lengths) = adaptive("adaptive_max_pool2d", 2, input, output_size)?;
        max_pool(&pooling, input, lengths)
    }

    /// [`adaptive_max_pool2d`], without the places unless `return_indices`.
    ///
    /// # Errors
    /// As [`adaptive_avg_pool2d`].
    #[python(nn, name = "adaptive_max_pool2d")]
    pub fn adaptive_max_pool2d_returning(
        input: &Tensor,
        output_size: &[i64],
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = adaptive_max_pool2d(input, output_size)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }

    /// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
    /// [`adaptive_avg_pool3d`].
    ///
    /// # Errors
    /// As [`adaptive_avg_pool3d`].
    #[python(hidden)]
    pub fn adaptive_max_pool3d(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
        let (pooling, lengths) = adaptive("adaptive_max_pool3d", 3, input, output_size)?;
        max_pool(&pooling, input, lengths)
    }

    /// [`adaptive_max_pool3d`], without the places unless `return_indices`.
    ///
    /// # Errors
    /// As [`adaptive_avg_pool3d`].
    #[python(nn, name = "adaptive_max_pool3d")]
    pub fn adaptive_max_pool3d_returning(
        input: &Tensor,
        output_size: &[i64],
        return_indices: bool = false,
    ) -> Result<Value> {
        let both = adaptive_max_pool3d(input, output_size)?;
        Ok(if return_indices { both.into() } else { both.0.into() })
    }
}

/// A height and a width: two numbers, or one for both.
pub trait ToUsize2 {
    /// The height and the width.
    fn to_usize2(self) -> (usize, usize);
}

impl ToUsize2 for usize {
    fn to_usize2(self) -> (usize, usize) {
        (self, self)
    }
}

impl ToUsize2 for (usize, usize) {
    fn to_usize2(self) -> (usize, usize) {
        self
    }
}

/// Sliding windows without padding.
fn sliding(op: &'static str, kernel: (usize, usize), stride: (usize, usize)) -> Result<Pooling> {
    let ints = |(h, w): (usize, usize)| [h, w].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    Pooling::new(op, 2, &ints(kernel), Some(&ints(stride)), [&[0], &[1]], false)
}

impl Tensor {
    /// The averages under windows that lie side by side on the last two dimensions: see
    /// [`avg_pool2d`](crate::functional::avg_pool2d).
    ///
    /// # Errors
    /// As [`Tensor::avg_pool2d_with_stride`].
    #[track_caller]
    pub fn avg_pool2d<T: ToUsize2>(&self, kernel_size: T) -> Result<Tensor> {
        let kernel = kernel_size.to_usize2();
        self.avg_pool2d_with_stride(kernel, kernel)
    }

    /// The averages under windows that move over the last two dimensions.
    ///
    /// # Errors
    /// For a window or stride of 0 and a window larger than the input.
    #[track_caller]
    pub fn avg_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Tensor> {
        let pooling = sliding("avg_pool2d", kernel_size.to_usize2(), stride.to_usize2())?;
        avg_pool(&pooling, Divisor::Inside, self, pooling.lengths(self)?)
    }

    /// The greatest elements under windows that lie side by side on the last two dimensions: see [`max_pool2d`](crate::functional::max_pool2d).
    ///
    /// # Errors
    /// As [`Tensor::max_pool2d_with_stride`].
    #[track_caller]
    pub fn max_pool2d<T: ToUsize2>(&self, kernel_size: T) -> Result<Tensor> {
        let kernel = kernel_size.to_usize2();
        self.max_pool2d_with_stride(kernel, kernel)
    }

    /// The greatest elements under windows that move over the last two dimensions.
    ///
    /// # Errors
    /// For a window or stride of 0 and a window larger than the input.
    #[track_caller]
    pub fn max_pool2d_with_stride<T: ToUsize2>(&self, kernel_size: T, stride: T) -> Result<Tensor> {
        let pooling = sliding("max_pool2d", kernel_size.to_usize2(), stride.to_usize2())?;
        Ok(max_pool(&pooling, self, pooling.lengths(self)?)?.0)
    }
}
