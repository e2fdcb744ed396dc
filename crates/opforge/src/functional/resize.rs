//! Images of another size.

use crate::operator::prelude::*;

functions! {
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
    #[python(nn)]
    pub fn interpolate(
        input: &Tensor,
        size: Option<&[i64]> = None,
        scale_factor: Option<&[f64]> = None,
        mode: &str = "nearest",
        align_corners: Option<bool> = None,
        recompute_scale_factor: Option<bool> = None,
        antialias: bool = false,
    ) -> Result<Tensor> {
        let spatial = input.rank().checked_sub(2).filter(|&n| n > 0);
        let spatial = spatial.ok_or_else(|| {
            Error::shape("interpolate", "input", format!("{:?}", input.shape()), "[n, channels, ..] with spatial dimensions")
        })?;
        let taps: Taps = match (mode, spatial) {
            ("bilinear", 2) if antialias => triangle,
            ("bicubic", 2) if antialias => smooth_cubic,
            (other, _) if antialias => {
                return Err(Error::value("interpolate", "mode", other, "\"bilinear\" or \"bicubic\", with antialias"));
            }
            ("nearest", _) => nearest,
            ("nearest-exact", _) => nearest_exact,
            ("linear", 1) | ("bilinear", 2) | ("trilinear", 3) => linear,
            ("bicubic", 2) => cubic,
            (other, n) => {
                let accepted = format!("\"nearest\", \"nearest-exact\", \"linear\", \"bilinear\", \"trilinear\" or \"bicubic\", as {n} dimensions need");
                return Err(Error::value("interpolate", "mode", other, accepted));
            }
        };
        if let (Some(corners), true) = (align_corners, mode.starts_with("nearest")) {
            let accepted = "none: corners are aligned where a mode interpolates, in linear, bilinear, trilinear and bicubic";
            return Err(Error::value("interpolate", "align_corners", corners, accepted));
        }
        let scales = scales(input, size, scale_factor, recompute_scale_factor.unwrap_or(false))?;
        // Weights are fractions, which bytes are not.
        let bytes = input.dtype() == DType::U8 && !mode.starts_with("nearest");
        let source = if bytes { input.to_dtype(DType::F32)? } else { input.clone() };
        let result = scales.iter().enumerate().try_fold(source, |x, (k, &(out, scale))| {
            resized(&x, k + 2, out, scale, align_corners.unwrap_or(false), taps)
        })?;
        if bytes { result.round()?.clamp(0.0, 255.0)?.to_dtype(DType::U8) } else { Ok(result) }
    }

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

/// How one dimension is mapped: element `i` of the result, the scale, the old and new length, and whether corners are aligned.
struct Map {
    scale: f64,
    from: usize,
    to: usize,
    corners: bool,
}

impl Map {
    /// Where element `i` lies among the old ones.
    fn position(&self, i: usize) -> f64 {
        match self.corners {
            true => i as f64 * self.distance(),
            false => (i as f64 + 0.5) * self.scale - 0.5,
        }
    }

    /// How far apart new elements are among the old ones.
    fn distance(&self) -> f64 {
        match (self.corners, self.to) {
            (true, 0 | 1) => 0.0,
            (true, to) => (self.from - 1) as f64 / (to - 1) as f64,
            (false, _) => self.scale,
        }
    }

    fn clamped(&self, place: f64) -> i64 {
        place.clamp(0.0, (self.from - 1) as f64) as i64
    }
}

/// The old elements that a new one is made of, and their weights.
type Taps = fn(&Map, usize) -> Vec<(i64, f64)>;

fn nearest(map: &Map, i: usize) -> Vec<(i64, f64)> {
    // In f32, as positions are defined.
    vec![(map.clamped(f64::from((i as f32 * map.scale as f32).floor())), 1.0)]
}

fn nearest_exact(map: &Map, i: usize) -> Vec<(i64, f64)> {
    vec![(map.clamped(f64::from(((i as f32 + 0.5) * map.scale as f32).floor())), 1.0)]
}

fn linear(map: &Map, i: usize) -> Vec<(i64, f64)> {
    let place = map.position(i).max(0.0);
    let weight = place - place.floor();
    vec![(map.clamped(place.floor()), 1.0 - weight), (map.clamped(place.floor() + 1.0), weight)]
}

fn cubic(map: &Map, i: usize) -> Vec<(i64, f64)> {
    let place = map.position(i);
    let at = |k: i32| place.floor() + f64::from(k);
    (-1..3).map(|k| (map.clamped(at(k)), keys(place - at(k), -0.75))).collect()
}

/// The cubic filter of Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981).
fn keys(x: f64, a: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    }
}

fn triangle(map: &Map, i: usize) -> Vec<(i64, f64)> {
    spread(map, i, 1.0, |x| (1.0 - x.abs()).max(0.0))
}

fn smooth_cubic(map: &Map, i: usize) -> Vec<(i64, f64)> {
    spread(map, i, 2.0, |x| keys(x, -0.5))
}

/// The weights of a filter that reaches `reach` elements to either side, stretched where elements become fewer. There are as many for every
/// element, some of them 0.
fn spread(map: &Map, i: usize, reach: f64, filter: impl Fn(f64) -> f64) -> Vec<(i64, f64)> {
    let stretch = map.distance().max(1.0);
    let centre = map.distance() * (i as f64 + 0.5);
    let first = map.clamped((centre - reach * stretch + 0.5).trunc());
    let end = ((centre + reach * stretch + 0.5) as i64).min(map.from as i64);
    let most = (reach * stretch).ceil() as i64 * 2 + 1;
    let weight = |j: i64| if j < end { filter((j as f64 - centre + 0.5) / stretch) } else { 0.0 };
    let total: f64 = (first..end).map(weight).sum();
    (first..first + most).map(|j| (map.clamped(j as f64), weight(j) / total)).collect()
}

#[track_caller]
fn resized(x: &Tensor, dim: usize, to: usize, scale: f64, corners: bool, taps: Taps) -> Result<Tensor> {
    let mut shape = x.shape().clone().into_dims();
    let map = Map { scale, from: std::mem::replace(&mut shape[dim], to), to, corners };
    Shape::from(shape).check("interpolate", x.dtype().size_in_bytes().max(8))?;
    let all: Vec<Vec<(i64, f64)>> = (0..to).map(|i| taps(&map, i)).collect();
    let tap = |k: usize| x.index_select(&Tensor::from_iter(all.iter().map(|taps| taps[k].0), x.device())?, dim);
    let count = all.first().map_or(1, Vec::len);
    if count == 1 {
        return tap(0);
    }
    let mut along = vec![1; x.rank()];
    along[dim] = to;
    let term = |k: usize| {
        let weight = Tensor::from_iter(all.iter().map(|taps| taps[k].1), x.device())?;
        tap(k)?.broadcast_mul(&weight.to_dtype(x.dtype())?.reshape(&along[..])?)
    };
    (1..count).try_fold(term(0)?, |sum, k| sum.add(&term(k)?))
}
