//! [`interpolate`] by one factor.

use crate::functional::interpolate;
use crate::operator::prelude::*;

functions! {
    /// As [`interpolate`], with one factor for all dimensions.
    ///
    /// # Errors
    /// As [`interpolate`].
    #[python(nn, name = "interpolate")]
    pub fn interpolate_by(
        input: &Tensor,
        size: Option<&[i64]> = None,
        scale_factor: Option<f64> = None,
        mode: &str = "nearest",
        align_corners: Option<bool> = None,
        recompute_scale_factor: Option<bool> = None,
        antialias: bool = false,
    ) -> Result<Tensor> {
        let factor = scale_factor.map(|factor| [factor]);
        let factor = factor.as_ref().map(|factor| &factor[..]);
        interpolate(input, size, factor, mode, align_corners, recompute_scale_factor, antialias)
    }
}
