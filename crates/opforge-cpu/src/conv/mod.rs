//! Convolutions of one to three spatial dimensions, their transposes and the gradients of their weights: all blocked products, whose matrix of
//! windows is gathered panel by panel.
//!
//! `f16` and `bf16` are summed in `f32` and rounded once. Results do not depend on the number of threads.

mod correlate;
mod dots;
mod geometry;
mod kernel;
mod packing;
mod panel;
mod phase;
mod piece;
mod product;
mod slab;
pub(crate) mod split;
mod sums;
mod task;
mod weight;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;

use crate::loops::planned::planned;
use crate::loops::staged::with_contiguous;
use crate::matmul::operand::Summed as Element;
use correlate::Spec;
use geometry::{Sizes, check_bias};
use kernel::Convolution;
pub use opforge_tile::forms::{Geometry, MAX_SPATIAL, Window};
use weight::WeightGradient;

/// Evaluates an expression with `$t` standing for a float dtype's type; returns from the function with an error for other dtypes.
macro_rules! by_float {
    ($op:expr, $dtype:expr, $t:ident => $value:expr) => {
        match $dtype {
            DType::F16 => by_size!(@with f16, $t, $value),
            DType::BF16 => by_size!(@with bf16, $t, $value),
            DType::F32 => by_size!(@with f32, $t, $value),
            DType::F64 => by_size!(@with f64, $t, $value),
            other => return Err(Error::UnsupportedDTypeForOp(other, $op)),
        }
    };
}

/// The kernel for `y[n, o, t] = bias[o] + sum over c, k of w[o, c, k] x[n, c, t stride + k dilation - padding]`.
///
/// Inputs are `x`, `w` and, if given, `bias`, of any strides; `y` is contiguous. See [`Geometry`] for the shapes; any length of `y` is right.
///
/// # Errors
/// Shapes that do not belong together, dtypes that differ or are no floats.
pub fn convolve(
    op: &'static str,
    geometry: &Geometry,
    x: &Meta,
    w: &Meta,
    bias: Option<&Meta>,
    y: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let sizes = Sizes::new(op, geometry, [x, w, y], y)?;
    check_bias(op, bias, sizes.groups * sizes.outputs, x.dtype)?;
    let inputs: Vec<&Meta> = [x, w].into_iter().chain(bias).collect();
    let (geometry, dtype, bias) = (*geometry, x.dtype, bias.is_some());
    let make = move || {
        let (spec, phases) = (Spec::new(op, &sizes, false, bias), vec![phase::forward(&geometry, &sizes)]);
        by_float!(op, dtype, E => Convolution::<E>::prepare(spec, phases))
    };
    with_contiguous(&inputs, |_| planned(phase::entries(1, &sizes)?, make))
}

/// The kernel for the transpose of [`convolve`] as a map from `x` to `y`: `x[n, c, t stride + k dilation - padding] += w[o, c, k] y[n, o, t]`,
/// beginning with `bias[c]`.
///
/// Inputs are `y`, `w` and, if given, `bias`; all else is as for [`convolve`].
///
/// # Errors
/// As [`convolve`].
pub fn transposed(
    op: &'static str,
    geometry: &Geometry,
    y: &Meta,
    w: &Meta,
    bias: Option<&Meta>,
    x: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let sizes = Sizes::new(op, geometry, [x, w, y], x)?;
    check_bias(op, bias, sizes.groups * sizes.inputs, x.dtype)?;
    let inputs: Vec<&Meta> = [y, w].into_iter().chain(bias).collect();
    let (geometry, dtype, bias) = (*geometry, x.dtype, bias.is_some());
    let make = move || {
        let (spec, phases) = (Spec::new(op, &sizes, true, bias), phase::transposed(&geometry, &sizes));
        by_float!(op, dtype, E => Convolution::<E>::prepare(spec, phases))
    };
    with_contiguous(&inputs, |_| planned(phase::entries(phase::systems(&geometry, &sizes), &sizes)?, make))
}

/// The kernel for the gradient of [`convolve`]'s weight: `w[o, c, k] = sum over n, t of y[n, o, t] x[n, c, t stride + k dilation - padding]`.
///
/// Inputs are `x` and `y`; all else is as for [`convolve`].
///
/// # Errors
/// As [`convolve`].
pub fn weight_gradient(
    op: &'static str,
    geometry: &Geometry,
    x: &Meta,
    y: &Meta,
    w: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let sizes = Sizes::new(op, geometry, [x, w, y], w)?;
    let (geometry, dtype) = (*geometry, x.dtype);
    let make =
        move || by_float!(op, dtype, E => WeightGradient::<E>::prepare(op, sizes, phase::forward(&geometry, &sizes)));
    with_contiguous(&[x, y], |_| planned(phase::entries(1, &sizes)?, make))
}
