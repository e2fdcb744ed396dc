//! Fractional max pooling: windows at random distances.

use opforge_tile::forms::MAX_SPATIAL;

use crate::family::window::per_dim;
use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::random::rand::Rand;

functions! { fractional_max_pool2d, fractional_max_pool3d }

/// The greatest elements under windows that are spread over the last two dimensions of `[batch, channels, height, width]` (the batch may be
/// missing) at random distances, as many as `output_size` says, or `output_ratio` times the input's lengths; with `return_indices` also their
/// places among those dimensions. `_random_samples`, `[batch, channels, 2]` from 0 to 1, tell the distances. Source: Graham,
/// "Fractional Max-Pooling" (2014).
///
/// # Errors
/// Unless one of size and ratio is given, and the windows fit into the input.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f, declaration::Value};
/// let x = Tensor::new(&[[[1f32, 5.0, 2.0], [3.0, 4.0, 9.0], [0.0, 1.0, 0.0]]], &Device::Cpu)?;
/// let Value::Tensor(y) = f::fractional_max_pool2d(&x, &[2], Some(&[2]), None, false, None)? else { panic!() };
/// assert_eq!(y.to_vec3::<f32>()?, [[[5.0, 9.0], [4.0, 9.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(output_size = None, output_ratio = None, return_indices = false, _random_samples = None)]
#[python(nn)]
pub fn fractional_max_pool2d(
    input: &Tensor,
    kernel_size: &[i64],
    output_size: Option<&[i64]>,
    output_ratio: Option<&[f64]>,
    return_indices: bool,
    _random_samples: Option<&Tensor>,
) -> Result<Value> {
    let sizes = (kernel_size, output_size, output_ratio);
    pooled(OP, 2, input, sizes, return_indices, _random_samples)
}

/// As [`fractional_max_pool2d`], over the last three dimensions of `[batch, channels, depth, height, width]`.
///
/// # Errors
/// As [`fractional_max_pool2d`].
#[function(output_size = None, output_ratio = None, return_indices = false, _random_samples = None)]
#[python(nn)]
pub fn fractional_max_pool3d(
    input: &Tensor,
    kernel_size: &[i64],
    output_size: Option<&[i64]>,
    output_ratio: Option<&[f64]>,
    return_indices: bool,
    _random_samples: Option<&Tensor>,
) -> Result<Value> {
    let sizes = (kernel_size, output_size, output_ratio);
    pooled(OP, 3, input, sizes, return_indices, _random_samples)
}

type Sizes<'a> = (&'a [i64], Option<&'a [i64]>, Option<&'a [f64]>);

#[track_caller]
fn pooled(
    op: &'static str,
    spatial: usize,
    input: &Tensor,
    sizes: Sizes<'_>,
    return_indices: bool,
    samples: Option<&Tensor>,
) -> Result<Value> {
    let batched = input.rank() == spatial + 2;
    if !batched && input.rank() != spatial + 1 {
        return Err(wrong_shape(op, "input", input.shape(), format!("{} or {} dimensions", spatial + 1, spatial + 2)));
    }
    let x = if batched { input.clone() } else { input.unsqueeze(0)? };
    let windows = Windows::new(op, &x, sizes)?;
    let samples = random_samples(op, &x, samples)?;
    let places = windows.places(&samples)?;
    let flat = |t: &Tensor| t.reshape((t.dims()[0], t.dims()[1], t.dims()[2..].iter().product::<usize>()));
    let seen = f::gather(&flat(&x)?, 2, &flat(&places)?)?.reshape(places.dims())?;
    let (values, best) = f::max_dim(&seen, -1, true)?;
    let shaped = |t: Tensor| {
        let t = t.squeeze(t.rank() - 1)?;
        if batched { Ok(t) } else { t.squeeze(0) }
    };
    if !return_indices {
        return Ok(shaped(values)?.into());
    }
    Ok(vec![shaped(values)?, shaped(f::gather(&places, -1, &best)?)?].into())
}

/// The samples that are given, or new ones: `[batch, channels, spatial]`.
#[track_caller]
fn random_samples(op: &'static str, x: &Tensor, given: Option<&Tensor>) -> Result<Tensor> {
    let shape: Shape = [x.dims()[0], x.dims()[1], x.rank() - 2].into();
    match given {
        Some(given) if given.shape() == &shape && given.dtype().is_float() => Ok(given.detach()),
        Some(given) => {
            Err(Error::shapes(op, x.shape(), given.shape(), format!("floating-point samples of the shape {shape:?}")))
        }
        None => draw(Rand::of(0.0, 1.0), &shape, DType::F32, x.device(), None),
    }
}

/// Windows over an input `[batch, channels, ..]`, by spatial dimension.
struct Windows<'a> {
    dims: &'a [usize],
    /// How long a window is.
    kernel: Vec<usize>,
    /// How many there are.
    count: Vec<usize>,
}

impl<'a> Windows<'a> {
    #[track_caller]
    fn new(op: &'static str, x: &'a Tensor, (kernel, size, ratio): Sizes<'_>) -> Result<Self> {
        let (lengths, spatial) = (&x.dims()[2..], x.rank() - 2);
        let numbers = |name, given: &[i64]| -> Result<Vec<usize>> {
            Ok(per_dim(op, name, given, spatial, 1)?[MAX_SPATIAL - spatial..].to_vec())
        };
        let kernel = numbers("kernel_size", kernel)?;
        let count = match (size, ratio) {
            (Some(size), None) => numbers("output_size", size)?,
            (None, Some(ratio)) if ratio.len() == spatial && ratio.iter().all(|&r| r > 0.0 && r < 1.0) => {
                let scaled: Vec<i64> = lengths.iter().zip(ratio).map(|(&n, r)| (n as f64 * r) as i64).collect();
                numbers("output_ratio", &scaled)?
            }
            (None, Some(ratio)) => {
                let accepted = format!("{spatial} numbers between 0 and 1");
                return Err(Error::value(op, "output_ratio", format!("{ratio:?}"), accepted));
            }
            _ => return Err(Error::value(op, "output_size, output_ratio", "both or neither", "one of the two")),
        };
        if (0..spatial).any(|d| count[d] + kernel[d] - 1 > lengths[d]) {
            let accepted = format!("lengths of at least output_size + kernel_size - 1 for {count:?} and {kernel:?}");
            return Err(wrong_shape(op, "input", x.shape(), accepted));
        }
        Ok(Windows { dims: x.dims(), kernel, count })
    }

    /// What each window sees, in places of the flattened spatial dimensions: `[batch, channels, windows.., elements of a window]`.
    fn places(&self, samples: &Tensor) -> Result<Tensor> {
        let (lengths, spatial) = (&self.dims[2..], self.kernel.len());
        let mut places = Tensor::zeros((), DType::I64, samples.device())?;
        for d in 0..spatial {
            // The samples' first is of the width in two dimensions, but of the depth in three.
            let sample = samples.get_on_dim(2, if spatial == 2 { 1 - d } else { d })?;
            let mut shape = vec![1; 2 + 2 * spatial];
            shape[..2].copy_from_slice(&self.dims[..2]);
            (shape[2 + d], shape[2 + spatial + d]) = (self.count[d], self.kernel[d]);
            let line = window_places(&sample, lengths[d], self.count[d], self.kernel[d])?.reshape(shape)?;
            places = places.affine(lengths[d] as f64, 0.0)?.broadcast_add(&line)?;
        }
        places.reshape([&self.dims[..2], &self.count, &[self.kernel.iter().product()]].concat())
    }
}

/// The places that each window sees along a dimension, `[batch, channels, windows * kernel]`, by samples `[batch, channels]`.
fn window_places(sample: &Tensor, len: usize, count: usize, kernel: usize) -> Result<Tensor> {
    let (last, device) = (len - kernel, sample.device());
    let sample = sample.unsqueeze(2)?;
    let distance = last as f64 / (count.max(2) - 1) as f64;
    let steps = Tensor::from_iter((0..count).map(|i| i as f64), device)?.to_dtype(sample.dtype())?;
    let starts = sample.broadcast_add(&steps)?.affine(distance, 0.0)?.floor()?;
    let starts = starts.broadcast_sub(&sample.affine(distance, 0.0)?.floor()?)?.to_dtype(DType::I64)?;
    let first = starts.narrow(2, 0, count - 1)?;
    let end = starts.narrow(2, count - 1, 1)?.affine(0.0, last as f64)?;
    let starts = Tensor::cat(&[&first, &end], 2)?.unsqueeze(3)?;
    starts.broadcast_add(&Tensor::arange(0i64, kernel as i64, device)?)
}
