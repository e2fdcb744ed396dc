//! Images and sequences of another size: the last one or two dimensions of `[n, channels, ..]`.

use crate::functional::interpolate;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// A sequence `[n, channels, length]` of another length: each element is the nearest one before its place.
    ///
    /// # Errors
    /// For tensors of another rank, and a length of 0.
    #[track_caller]
    pub fn upsample_nearest1d(&self, target_size: usize) -> Result<Tensor> {
        resized(self, [target_size], "nearest", None)
    }

    /// As [`Tensor::upsample_nearest1d`].
    ///
    /// # Errors
    /// As [`Tensor::upsample_nearest1d`].
    #[track_caller]
    pub fn interpolate1d(&self, target_size: usize) -> Result<Tensor> {
        self.upsample_nearest1d(target_size)
    }

    /// Images `[n, channels, height, width]` of another size, as [`Tensor::upsample_nearest1d`] does it.
    ///
    /// # Errors
    /// As [`Tensor::upsample_nearest1d`].
    #[track_caller]
    pub fn upsample_nearest2d(&self, target_h: usize, target_w: usize) -> Result<Tensor> {
        resized(self, [target_h, target_w], "nearest", None)
    }

    /// As [`Tensor::upsample_nearest2d`].
    ///
    /// # Errors
    /// As [`Tensor::upsample_nearest1d`].
    #[track_caller]
    pub fn interpolate2d(&self, target_h: usize, target_w: usize) -> Result<Tensor> {
        self.upsample_nearest2d(target_h, target_w)
    }

    /// Images of another size, each element between the four nearest ones. With `align_corners` the corners' centres stay in place.
    ///
    /// # Errors
    /// As [`Tensor::upsample_nearest1d`]; for integers.
    #[track_caller]
    pub fn upsample_bilinear2d(&self, target_h: usize, target_w: usize, align_corners: bool) -> Result<Tensor> {
        resized(self, [target_h, target_w], "bilinear", Some(align_corners))
    }

    /// As [`Tensor::upsample_bilinear2d`], by factors, of which the sizes are rounded down and positions are not.
    ///
    /// # Errors
    /// As [`Tensor::upsample_bilinear2d`]; for factors that are not positive.
    #[track_caller]
    pub fn upsample_bilinear2d_with_scale(&self, scale_h: f64, scale_w: f64, align_corners: bool) -> Result<Tensor> {
        interpolate(self, None, Some(&[scale_h, scale_w]), "bilinear", Some(align_corners), None, false)
    }
}

#[track_caller]
fn resized<const N: usize>(x: &Tensor, size: [usize; N], mode: &str, align_corners: Option<bool>) -> Result<Tensor> {
    if x.rank() != N + 2 {
        return Err(Error::shape("upsample", "input", format!("{:?}", x.shape()), format!("rank {}", N + 2)));
    }
    interpolate(x, Some(&size.map(|n| i64::try_from(n).unwrap_or(i64::MAX))), None, mode, align_corners, None, false)
}
