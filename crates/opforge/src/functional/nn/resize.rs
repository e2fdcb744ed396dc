//! [`interpolate`] by one factor.

use crate::functional::interpolate;
use crate::ops::prelude::*;

functions! { interpolate_by }

/// As [`interpolate`], with one factor for all dimensions.
///
/// # Errors
/// As [`interpolate`].
#[function(size = None, scale_factor = None, mode = "nearest", align_corners = None, recompute_scale_factor = None, antialias = false)]
#[python(nn, name = "interpolate")]
pub fn interpolate_by(
    input: &Tensor,
    size: Option<&[i64]>,
    scale_factor: Option<f64>,
    mode: &str,
    align_corners: Option<bool>,
    recompute_scale_factor: Option<bool>,
    antialias: bool,
) -> Result<Tensor> {
    let factor = scale_factor.map(|factor| [factor]);
    let factor = factor.as_ref().map(|factor| &factor[..]);
    interpolate(input, size, factor, mode, align_corners, recompute_scale_factor, antialias)
}
