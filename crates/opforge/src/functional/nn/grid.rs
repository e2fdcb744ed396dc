//! Grids of affine maps, and images sampled where a grid says, composed of other operators.

use opforge_tile::forms::{Between, Outside, Sampling};

use crate::functional as f;
use crate::ops::prelude::*;

functions! { affine_grid }

/// The grid for [`grid_sample`](fn@crate::functional::grid_sample) that affine maps `theta`, `[n, 2, 3]` or `[n, 3, 4]`, give for images of the size `[n, channels, height, width]` or
/// `[n, channels, depth, height, width]`.
///
/// # Errors
/// For sizes that do not go with the maps.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let theta = Tensor::new(&[[[1f32, 0.0, 0.0], [0.0, 1.0, 0.0]]], &Device::Cpu)?;
/// let grid = f::affine_grid(&theta, &[1, 1, 1, 2], Some(true))?;
/// assert_eq!(grid.flatten_all()?.to_vec1::<f32>()?, [-1.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(align_corners = None)]
#[python(nn)]
pub fn affine_grid(theta: &Tensor, size: &[i64], align_corners: Option<bool>) -> Result<Tensor> {
    let lengths = f::size_to_shape(OP, size)?.into_dims();
    let dims = lengths.len().saturating_sub(2);
    let fits =
        matches!(dims, 2 | 3) && theta.dims() == [lengths[0], dims, dims + 1] && lengths[2..].iter().all(|&n| n > 0);
    if !fits || !theta.dtype().is_float() {
        let given = format!("{:?} of {} for a size of {size:?}", theta.shape(), theta.dtype());
        return Err(Error::shape(OP, "theta", given, "floats, [n, 2, 3] for 4 sizes or [n, 3, 4] for 5"));
    }
    let spatial = &lengths[2..];
    let base = (0..dims).map(|k| centres(theta, spatial, dims - 1 - k, align_corners.unwrap_or(false)));
    let base = base.chain([Tensor::ones(spatial, theta.dtype(), theta.device())]).collect::<Result<Vec<_>>>()?;
    let base = Tensor::stack(&base, dims)?.reshape((1, spatial.iter().product::<usize>(), dims + 1))?;
    let out = [&lengths[..1], spatial, &[dims]].concat();
    base.broadcast_matmul(&theta.transpose(1, 2)?)?.reshape(out)
}

/// [`grid_sample`](fn@crate::functional::grid_sample) where it has no kernel, and where its gradient is differentiated; arguments are checked.
#[track_caller]
pub(crate) fn sampled(input: &Tensor, grid: &Tensor, sampling: Sampling) -> Result<Tensor> {
    let places = grid.to_dtype(working(input.dtype()))?;
    let points: usize = grid.dims()[1..grid.rank() - 1].iter().product();
    // x comes first in the grid, last among the dimensions.
    let along = |d: usize| {
        let place = places.get_on_dim(grid.rank() - 1, input.rank() - 1 - d)?.reshape((grid.dims()[0], 1, points))?;
        Line { len: input.dims()[d], sampling }.taps(&place)
    };
    let along = (2..input.rank()).map(along).collect::<Result<Vec<_>>>()?;
    let mut sampled = weighted(input, &along)?;
    if sampling.between == Between::Nearest {
        sampled = f::constant_in(sampled, &[grid])?;
    }
    let out = input.dims()[..2].iter().chain(&grid.dims()[1..grid.rank() - 1]).copied().collect::<Vec<_>>();
    sampled.to_dtype(input.dtype())?.reshape(out)
}

/// The dtype in which places are told: half precision cannot count pixels.
fn working(dtype: DType) -> DType {
    if dtype == DType::F64 { dtype } else { DType::F32 }
}

/// The positions of a dimension's elements, from -1 to 1, for each element of an image.
fn centres(like: &Tensor, spatial: &[usize], d: usize, corners: bool) -> Result<Tensor> {
    let n = spatial[d];
    let at = |i: usize| match (corners, n) {
        (true, 1) => 0.0,
        (true, n) => 2.0 * i as f64 / (n - 1) as f64 - 1.0,
        (false, n) => (2.0 * i as f64 + 1.0) / n as f64 - 1.0,
    };
    let mut shape = vec![1; spatial.len()];
    shape[d] = n;
    Tensor::from_iter((0..n).map(at), like.device())?.to_dtype(like.dtype())?.reshape(shape)?.broadcast_as(spatial)
}

/// A dimension of the image.
struct Line {
    len: usize,
    sampling: Sampling,
}

impl Line {
    /// What samples at these positions are made of.
    fn taps(&self, place: &Tensor) -> Result<Vec<Tap>> {
        match self.sampling.between {
            Between::Nearest => nearest(self, place),
            Between::Linear => linear(self, place),
            Between::Cubic => cubic(self, place),
        }
    }

    /// Positions from -1 to 1 in elements.
    fn elements(&self, place: &Tensor) -> Result<Tensor> {
        let n = self.len as f64;
        if self.sampling.corners {
            place.affine(0.5 * (n - 1.0), 0.5 * (n - 1.0))
        } else {
            place.affine(0.5 * n, 0.5 * (n - 1.0))
        }
    }

    /// Positions brought inside, unless zeros lie outside.
    fn inside(&self, at: &Tensor) -> Result<Tensor> {
        match self.sampling.outside {
            Outside::Zeros => Ok(at.clone()),
            Outside::Border => self.clipped(at),
            Outside::Reflection => self.clipped(&self.reflected(at)?),
        }
    }

    /// What is on or beyond an edge has no slope; NaN lies at the start.
    fn clipped(&self, at: &Tensor) -> Result<Tensor> {
        let end = (self.len - 1) as f64;
        let below = f::where_cond(&f::lt(at.into(), end.into())?, at.into(), end.into())?;
        f::where_cond(&f::gt(at.into(), 0.0.into())?, (&below).into(), 0.0.into())
    }

    /// Between mirrors, in the corners' centres or on the outer edges: a zigzag.
    fn reflected(&self, at: &Tensor) -> Result<Tensor> {
        let (low, span) = if self.sampling.corners { (0.0, (self.len - 1) as f64) } else { (-0.5, self.len as f64) };
        if span == 0.0 {
            return at.zeros_like();
        }
        let way = at.affine(1.0, -low)?.abs()?;
        let rest = f::remainder((&way).into(), (2.0 * span).into())?;
        // As far from the turning point as from the start.
        rest.affine(1.0, -span)?.abs()?.affine(-1.0, span + low)
    }

    /// An element at a whole position, and its share: none outside. Shares that are NaN stay so, as in PyTorch.
    fn tap(&self, at: &Tensor, weight: Option<&Tensor>) -> Result<Tap> {
        let inside = f::logical_and(
            (&f::ge(at.into(), 0.0.into())?).into(),
            (&f::le(at.into(), ((self.len - 1) as f64).into())?).into(),
        )?;
        let place = f::where_cond(&inside, (&at.detach()).into(), 0.0.into())?.to_dtype(DType::I64)?;
        let inside = inside.to_dtype(at.dtype())?;
        let share = weight.map_or(Ok(inside.clone()), |weight| weight.mul(&inside))?;
        Ok(Tap { place, share })
    }
}

/// Elements along a dimension, in i64, and their weights: `[n, 1, points]`.
#[derive(Clone)]
struct Tap {
    place: Tensor,
    share: Tensor,
}

fn nearest(line: &Line, place: &Tensor) -> Result<Vec<Tap>> {
    let at = f::round(&line.inside(&line.elements(&place.detach())?)?, 0)?;
    Ok(vec![line.tap(&at, None)?])
}

fn linear(line: &Line, place: &Tensor) -> Result<Vec<Tap>> {
    let at = line.inside(&line.elements(place)?)?;
    let low = at.detach().floor()?;
    let weight = at.sub(&low)?;
    Ok(vec![line.tap(&low, Some(&weight.affine(-1.0, 1.0)?))?, line.tap(&low.affine(1.0, 1.0)?, Some(&weight))?])
}

/// Source: Keys, "Cubic Convolution Interpolation for Digital Image Processing" (1981), with a = -0.75.
fn cubic(line: &Line, place: &Tensor) -> Result<Vec<Tap>> {
    const A: f64 = -0.75;
    let at = line.elements(place)?;
    let low = at.detach().floor()?;
    let t = at.sub(&low)?;
    let rest = t.affine(-1.0, 1.0)?;
    let polynomial = |x: &Tensor, c: [f64; 4]| {
        c[1..].iter().try_fold(Tensor::full_scalar(c[0].into(), x.shape(), x.dtype(), x.device())?, |y, &c| {
            y.mul(x)?.affine(1.0, c)
        })
    };
    let inner = |x: &Tensor| polynomial(x, [A + 2.0, -(A + 3.0), 0.0, 1.0]);
    let outer = |x: &Tensor| polynomial(&x.affine(1.0, 1.0)?, [A, -5.0 * A, 8.0 * A, -4.0 * A]);
    let weights = [outer(&t)?, inner(&t)?, inner(&rest)?, outer(&rest)?];
    let tap = |(k, weight): (usize, &Tensor)| line.tap(&line.inside(&low.affine(1.0, k as f64 - 1.0)?)?, Some(weight));
    weights.iter().enumerate().map(tap).collect()
}

/// The sum over all combinations of the dimensions' taps: `[n, channels, points]`.
fn weighted(input: &Tensor, along: &[Vec<Tap>]) -> Result<Tensor> {
    let mut corners = vec![None];
    for (k, taps) in along.iter().enumerate() {
        let len = input.dims()[k + 2];
        let joined = |corner: &Option<Tap>, tap: &Tap| match corner {
            None => Ok(tap.clone()),
            Some(c) => {
                Ok(Tap { place: c.place.affine(len as f64, 0.0)?.add(&tap.place)?, share: c.share.mul(&tap.share)? })
            }
        };
        let all = corners.iter().flat_map(|corner| taps.iter().map(move |tap| joined(corner, tap).map(Some)));
        corners = all.collect::<Result<Vec<_>>>()?;
    }
    let (n, channels) = (input.dims()[0], input.dims()[1]);
    let flat = input.reshape((n, channels, input.dims()[2..].iter().product::<usize>()))?;
    let values = |corner: &Tap| {
        let points = corner.place.dims()[2];
        let values = f::gather(&flat, 2, &corner.place.broadcast_as((n, channels, points))?)?;
        values.to_dtype(corner.share.dtype())
    };
    let mut corners = corners.iter().flatten();
    let Some(first) = corners.next() else { return flat.zeros_like() };
    let first_term = values(first)?.broadcast_mul(&first.share)?;
    corners.try_fold(first_term, |sum, corner| f::addcmul(&sum, &values(corner)?, &corner.share, Scalar::Int(1)))
}
