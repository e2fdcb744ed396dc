//! Pooling over the last two dimensions, without padding.

use opforge_tile::forms::Divisor;

use crate::family::pool::Pooling;
use crate::ops::nn::avg_pool2d::avg_pool;
use crate::ops::nn::max_pool2d::max_pool_values;
use crate::{Result, Tensor};

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
        avg_pool(&sliding("avg_pool2d", kernel_size.to_usize2(), stride.to_usize2())?, Divisor::Inside, self)
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
        max_pool_values(&sliding("max_pool2d", kernel_size.to_usize2(), stride.to_usize2())?, self)
    }
}
