//! `interpolate(x, size)`: images of another size.

use opforge_tile::forms::{Filter, MAX_SPATIAL, Stretch, Stretches, Windowed};

use crate::family::pool::{one, plane_axes, with_lengths};
use crate::family::window::{PerDim, spatial_lengths};
use crate::ops::prelude::*;

/// The operator that resamples the last `spatial` dimensions, or its gradient, which is its transpose as a linear map.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Interpolate {
    /// How each dimension changes.
    pub how: Stretches,
    /// How many dimensions change.
    pub spatial: usize,
    /// The result's lengths along them, missing ones first and 1.
    pub lengths: PerDim,
    /// Whether this is the gradient: from the new elements' gradients to the old ones'.
    pub gradient: bool,
}

impl Operator for Interpolate {
    fn name(&self) -> &'static str {
        if self.gradient { "interpolate_grad" } else { "interpolate" }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        ensure(inputs[0].dtype.is_float(), || Error::UnsupportedDTypeForOp(inputs[0].dtype, self.name()))?;
        self.resized(inputs[0])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        plane_axes(inputs, self.spatial, 1)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        let &Interpolate { how, spatial, gradient, .. } = self;
        Ok(Lowering::Windowed(Windowed::Resample { how, spatial, gradient }))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.input_meta(0);
        let lengths = spatial_lengths(&x.dims()[x.rank() - self.spatial..]);
        let op = Interpolate { lengths, gradient: !self.gradient, ..self.clone() };
        Ok(smallvec![Some(dispatch1(&op, &[&ctx.grad(0)?])?)])
    }
}

impl Interpolate {
    fn resized(&self, x: &Meta) -> Result<Metas> {
        let shape = with_lengths(self.name(), x, self.spatial, &self.lengths)?;
        shape.check(self.name(), x.dtype.size_in_bytes())?;
        Ok(one(Meta::contiguous(x.dtype, shape)))
    }
}

/// An interpolation that copies elements, of any dtype.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct CopyNearest(Interpolate);

impl Operator for CopyNearest {
    fn name(&self) -> &'static str {
        "interpolate"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        self.0.resized(inputs[0])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        self.0.axes(inputs)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        self.0.lower(inputs, outputs)
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The spatial dimensions, those after the second, resized to `size`, or by `scale_factor`: `mode` is `"nearest"`, `"nearest-exact"`,
/// `"linear"`, `"bilinear"`, `"trilinear"` or `"bicubic"`. With `align_corners` the corners' centres stay in place. Without
/// `recompute_scale_factor` a given factor maps positions as it is. With `antialias`, `"bilinear"` and `"bicubic"` average over all that
/// becomes one element when images shrink. Bytes are rounded.
///
/// # Errors
/// For sizes that do not go with the dimensions, other modes, `align_corners` with the nearest, and `antialias` of others than `"bilinear"` and `"bicubic"`.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[[1f32, 3.0]]], &Device::Cpu)?;
/// let y = f::interpolate(&x, Some(&[4]), None, "linear", None, None, false)?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[1.0, 1.5, 2.5, 3.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(size = None, scale_factor = None, mode = "nearest", align_corners = None, recompute_scale_factor = None, antialias = false)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, Interpolate, CopyNearest)]
pub fn interpolate(
    input: &Tensor,
    size: Option<&[i64]>,
    scale_factor: Option<&[f64]>,
    mode: &str,
    align_corners: Option<bool>,
    recompute_scale_factor: Option<bool>,
    antialias: bool,
) -> Result<Tensor> {
    let spatial = input.rank().checked_sub(2).filter(|n| (1..=MAX_SPATIAL).contains(n));
    let spatial = spatial
        .ok_or_else(|| wrong_shape(OP, "input", input.shape(), "[n, channels, ..] with 1 to 3 spatial dimensions"))?;
    let filter = match (mode, spatial) {
        ("bilinear", 2) if antialias => Filter::Triangle,
        ("bicubic", 2) if antialias => Filter::SmoothCubic,
        (other, _) if antialias => {
            return Err(Error::value(OP, "mode", other, "\"bilinear\" or \"bicubic\", with antialias"));
        }
        ("nearest", _) => Filter::Nearest,
        ("nearest-exact", _) => Filter::NearestExact,
        ("linear", 1) | ("bilinear", 2) | ("trilinear", 3) => Filter::Linear,
        ("bicubic", 2) => Filter::Cubic,
        (other, n) => {
            let accepted = format!(
                "\"nearest\", \"nearest-exact\", \"linear\", \"bilinear\", \"trilinear\" or \"bicubic\", as {n} dimensions need"
            );
            return Err(Error::value(OP, "mode", other, accepted));
        }
    };
    if let (Some(corners), true) = (align_corners, mode.starts_with("nearest")) {
        let accepted =
            "none: corners are aligned where a mode interpolates, in linear, bilinear, trilinear and bicubic";
        return Err(Error::value(OP, "align_corners", corners, accepted));
    }
    let scales = scales(input, size, scale_factor, recompute_scale_factor.unwrap_or(false))?;
    // Weights are fractions, which bytes are not.
    let bytes = input.dtype() == DType::U8 && !mode.starts_with("nearest");
    let source = if bytes { input.to_dtype(DType::F32)? } else { input.clone() };
    let mut op = Interpolate { how: [Stretch::NONE; MAX_SPATIAL], spatial, lengths: [1; MAX_SPATIAL], gradient: false };
    for (d, &(length, scale)) in (MAX_SPATIAL - spatial..).zip(&scales) {
        op.lengths[d] = length;
        op.how[d] = Stretch { filter, scale: Scalar::Float(scale), corners: align_corners.unwrap_or(false) };
    }
    if !source.dtype().is_float() && mode.starts_with("nearest") {
        return dispatch1(&CopyNearest(op), &[&source]);
    }
    let result = dispatch1(&op, &[&source])?;
    if bytes { result.round()?.clamp(0.0, 255.0)?.to_dtype(DType::U8) } else { Ok(result) }
}

/// The new length of each spatial dimension, and how far apart its elements are in the old one.
fn scales(input: &Tensor, size: Option<&[i64]>, factor: Option<&[f64]>, recompute: bool) -> Result<Vec<(usize, f64)>> {
    let lengths = &input.dims()[2..];
    let wrong = |argument: &'static str, given: String| {
        let accepted = format!("one number, or {} of them, for lengths of at least 1", lengths.len());
        Error::value("interpolate", argument, given, accepted)
    };
    let length = |n: f64| (1.0..9e15).contains(&n).then_some(n as usize);
    let pick = |k: usize, n: usize| if n == 1 { Some(0) } else { (n == lengths.len()).then_some(k) };
    let each = lengths.iter().enumerate();
    match (size, factor) {
        (Some(size), None) => each
            .map(|(k, &len)| {
                let out = pick(k, size.len()).and_then(|k| length(size[k] as f64));
                let out = out.filter(|_| len > 0).ok_or_else(|| wrong("size", format!("{size:?}")))?;
                Ok((out, len as f64 / out as f64))
            })
            .collect(),
        (None, Some(factor)) => each
            .map(|(k, &len)| {
                let by = pick(k, factor.len()).map(|k| factor[k]);
                let out = by.and_then(|by| length((len as f64 * by).floor()));
                let (by, out) = by.zip(out).ok_or_else(|| wrong("scale_factor", format!("{factor:?}")))?;
                Ok((out, if recompute { len as f64 / out as f64 } else { 1.0 / by }))
            })
            .collect(),
        _ => Err(Error::value("interpolate", "size", "given with, or without, scale_factor", "one of the two")),
    }
}

/// The weight of old element `j` in new element `i`, straight from the filters' definitions.
fn weight(filter: Filter, [from, to]: [usize; 2], corners: bool, i: usize, j: usize) -> f64 {
    let scale = if corners { (from as f64 - 1.0) / (to as f64 - 1.0).max(1.0) } else { from as f64 / to as f64 };
    let place = if corners { i as f64 * scale } else { (i as f64 + 0.5) * scale - 0.5 };
    let cubic = |x: f64| match x.abs() {
        x if x < 1.0 => (1.25 * x - 2.25) * x * x + 1.0,
        x if x < 2.0 => ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0,
        _ => 0.0,
    };
    // Elements beyond the border are those at the border.
    let bordered = |place: f64, filter: &dyn Fn(f64) -> f64| -> f64 {
        let at = |k: i64| if k.clamp(0, from as i64 - 1) == j as i64 { filter(place - k as f64) } else { 0.0 };
        (-2..from as i64 + 2).map(at).sum()
    };
    match filter {
        Filter::Nearest => f64::from((i as f64 * from as f64 / to as f64) as usize == j),
        Filter::NearestExact => f64::from(((i as f64 + 0.5) * from as f64 / to as f64) as usize == j),
        Filter::Linear => bordered(place.max(0.0), &|x| (1.0 - x.abs()).max(0.0)),
        Filter::Cubic => bordered(place, &cubic),
        Filter::Triangle | Filter::SmoothCubic => unreachable!("samples use the other filters"),
    }
}

fn samples() -> Vec<Sample> {
    let cases: [(&[usize], &[usize], Filter, bool); 8] = [
        (&[1, 2, 3], &[1, 2, 7], Filter::Nearest, false),
        (&[1, 2, 3, 4], &[1, 2, 6, 2], Filter::NearestExact, false),
        (&[2, 1, 4], &[2, 1, 7], Filter::Linear, false),
        (&[1, 2, 3, 4], &[1, 2, 6, 8], Filter::Linear, false),
        (&[2, 1, 5, 4], &[2, 1, 3, 5], Filter::Linear, true),
        (&[1, 1, 2, 3, 3], &[1, 1, 3, 2, 4], Filter::Linear, false),
        (&[1, 2, 4, 5], &[1, 2, 6, 3], Filter::Cubic, false),
        (&[1, 1, 3, 5], &[1, 1, 4, 7], Filter::Cubic, true),
    ];
    let sample = |(x, y, filter, corners): (&'static [usize], &'static [usize], Filter, bool), gradient: bool| {
        let mut how = [Stretch::NONE; MAX_SPATIAL];
        for d in 2..x.len() {
            let scale = Scalar::Float(x[d] as f64 / y[d] as f64);
            how[d + MAX_SPATIAL - x.len()] = Stretch { filter, scale, corners };
        }
        let (from, to) = if gradient { (y, x) } else { (x, y) };
        let op = Interpolate { how, spatial: x.len() - 2, lengths: spatial_lengths(&to[2..]), gradient };
        Sample::new(op, vec![Array::spread(from, -2.0..2.0)], move |inputs| {
            let mut out = Array::from_fn(to, |_| 0.0);
            let mut element = 0;
            each_index(to, |at| {
                each_index(from, |of| {
                    let (new, old) = if gradient { (of, at) } else { (at, of) };
                    let factor = |d: usize| weight(filter, [x[d], y[d]], corners, new[d], old[d]);
                    let product: f64 = if at[..2] == of[..2] { (2..x.len()).map(factor).product() } else { 0.0 };
                    if product != 0.0 {
                        out.data[element] += product * inputs[0].at(of);
                    }
                });
                element += 1;
            });
            out
        })
    };
    cases.into_iter().flat_map(|case| [sample(case, false), sample(case, true)]).collect()
}
