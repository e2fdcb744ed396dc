//! Sampling beside sums over all elements of an image.

use opforge_core::{DType, Meta};
use opforge_cpu::sample::*;
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, epsilon, layouts, noise, run};

/// Shapes of image and grid.
const SHAPES: [(&[usize], &[usize]); 3] =
    [(&[2, 3, 4, 5], &[2, 3, 23, 2]), (&[1, 9, 1, 7], &[1, 130, 1, 2]), (&[2, 2, 3, 2, 4], &[2, 2, 3, 3, 3])];

/// The filter's value at a distance.
fn filter(between: Between, x: f64) -> f64 {
    match (between, x.abs()) {
        (Between::Nearest, _) => unreachable!("rounded before"),
        (Between::Linear, x) => (1.0 - x).max(0.0),
        (Between::Cubic, x) if x < 1.0 => (1.25 * x - 2.25) * x * x + 1.0,
        (Between::Cubic, x) if x < 2.0 => ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0,
        (Between::Cubic, _) => 0.0,
    }
}

fn inside(how: Sampling, n: f64, mut at: f64) -> f64 {
    if how.outside == Outside::Reflection {
        let (low, high) = if how.corners { (0.0, n - 1.0) } else { (-0.5, n - 0.5) };
        while low < high && (at < low || at > high) {
            at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
        }
    }
    if how.outside == Outside::Zeros { at } else { at.clamp(0.0, n - 1.0) }
}

/// How much of element `j` of `n` is at a number of the grid.
fn share(how: Sampling, n: usize, j: usize, at: f64) -> f64 {
    let len = n as f64;
    let at = if how.corners { (at + 1.0) / 2.0 * (len - 1.0) } else { ((at + 1.0) * len - 1.0) / 2.0 };
    match how.between {
        Between::Nearest => f64::from(u8::from(inside(how, len, at).round_ties_even() == j as f64)),
        Between::Linear => filter(how.between, inside(how, len, at) - j as f64),
        Between::Cubic => {
            let near = (-2..3).map(|k| at.floor() + f64::from(k));
            near.filter(|&k| inside(how, len, k) == j as f64).map(|k| filter(how.between, at - k)).sum()
        }
    }
}

/// How much of each element of a plane is at a point, whose numbers are given from the last dimension's to the first's.
fn shares(how: Sampling, lengths: &[usize], point: &[f64]) -> Vec<f64> {
    let mut shares = vec![1.0];
    for (d, &n) in lengths.iter().enumerate() {
        let along: Vec<f64> = (0..n).map(|j| share(how, n, j, point[lengths.len() - 1 - d])).collect();
        shares = shares.iter().flat_map(|a| along.iter().map(move |b| a * b)).collect();
    }
    shares
}

fn all() -> impl Iterator<Item = Sampling> {
    let between = [Between::Nearest, Between::Linear, Between::Cubic];
    let outside = [Outside::Zeros, Outside::Border, Outside::Reflection];
    let each = between.into_iter().flat_map(move |between| outside.map(|outside| (between, outside)));
    each.flat_map(|(between, outside)| [false, true].map(|corners| Sampling { between, outside, corners }))
}

/// Calls `check` with tensors of every dtype and layout, under every instruction set: image, gradient of the samples, and grid.
fn for_every_case(check: impl Fn(Sampling, [&Array; 3])) {
    for ((x, grid), isa) in SHAPES.into_iter().flat_map(|shapes| Isa::supported().map(move |isa| (shapes, isa))) {
        let y = [&x[..2], &grid[1..grid.len() - 1]].concat();
        for (dtype, how) in [DType::F32, DType::F64, DType::F16].into_iter().flat_map(|d| all().map(move |h| (d, h))) {
            if how.between == Between::Cubic && x.len() == 5 {
                continue;
            }
            let of = |shape: &[usize], layout: usize, number: fn(f64) -> f64| {
                let layouts = layouts(shape);
                Array::new(dtype, layouts[layout % layouts.len()].clone(), |i| number(noise(i + layout)))
            };
            // No place of the grid is halfway between elements or at an edge, where a number's last bit decides.
            let place = |x: f64| 0.437 * x + 0.0137;
            for layout in 0..3 {
                let tensors = [of(x, layout, |x| x), of(&y, layout + 1, |x| x), of(grid, layout, place)];
                with_isa(isa, || check(how, tensors.each_ref()));
            }
        }
    }
}

/// For each image the plane's size, the number of points, and what each is made of; the derivative by a number of the grid where `by` tells which.
fn weights(how: Sampling, x: &Array, grid: &Array, by: Option<usize>) -> Vec<Vec<f64>> {
    const STEP: f64 = 1e-6;
    let (lengths, spatial) = (&x.meta.dims()[2..], x.meta.rank() - 2);
    let of = |point: &[f64]| {
        let Some(d) = by else { return shares(how, lengths, point) };
        let at = |step: f64| {
            let mut moved = point.to_vec();
            moved[d] += step;
            shares(how, lengths, &moved)
        };
        at(STEP).iter().zip(at(-STEP)).map(|(a, b)| (a - b) / (2.0 * STEP)).collect()
    };
    grid.values().chunks(spatial).map(of).collect()
}

fn near(found: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a}, not {b}, at {i}");
    }
}

fn found(part: Sampled, how: Sampling, inputs: &[&Array], output: &Array) -> Vec<f64> {
    let metas: Vec<&Meta> = inputs.iter().map(|input| &input.meta).collect();
    let output = Meta::contiguous(output.meta.dtype, output.meta.shape());
    let kernel = sample("test", how, part, &metas, &output).expect("shapes that go together");
    run(&*kernel, inputs, &[output])[0].values()
}

#[test]
fn samples_and_gradients_of_images() {
    for_every_case(|how, [x, dy, grid]| {
        let weights = weights(how, x, grid, None);
        let (images, channels) = (x.meta.dims()[0], x.meta.dims()[1]);
        let (plane, points) = (weights[0].len(), weights.len() / images);
        let (given, gradient) = (x.values(), dy.values());
        let (mut y, mut dx) = (vec![0.0; gradient.len()], vec![0.0; given.len()]);
        for (at, c, p) in (0..images * channels).flat_map(|c| (0..points).map(move |p| (c * points + p, c, p))) {
            for (j, weight) in weights[c / channels * points + p].iter().enumerate() {
                y[at] += weight * given[c * plane + j];
                dx[c * plane + j] += weight * gradient[at];
            }
        }
        let tolerance = 400.0 * epsilon(x.meta.dtype);
        let what = format!("{how:?} of {:?}", x.meta);
        near(&found(Sampled::Output, how, &[x, grid], dy), &y, tolerance, &what);
        near(&found(Sampled::Image, how, &[dy, grid], x), &dx, 4.0 * tolerance, &format!("gradient of {what}"));
    });
}

#[test]
fn gradients_of_grids() {
    for_every_case(|how, [x, dy, grid]| {
        if x.meta.dtype != DType::F64 || how.between == Between::Nearest {
            return;
        }
        let spatial = x.meta.rank() - 2;
        let (images, channels) = (x.meta.dims()[0], x.meta.dims()[1]);
        let (given, gradient) = (x.values(), dy.values());
        let mut wanted = vec![0.0; grid.meta.shape().elem_count()];
        for d in 0..spatial {
            let weights = weights(how, x, grid, Some(d));
            let (plane, points) = (weights[0].len(), weights.len() / images);
            for (p, weights) in weights.iter().enumerate() {
                for c in p / points * channels..(p / points + 1) * channels {
                    let value: f64 = weights.iter().zip(&given[c * plane..]).map(|(w, x)| w * x).sum();
                    wanted[p * spatial + d] += value * gradient[c * points + p % points];
                }
            }
        }
        near(&found(Sampled::Grid, how, &[dy, x, grid], grid), &wanted, 1e-5, &format!("{how:?} of {:?}", x.meta));
    });
}

/// What lies beyond an image counts as zero even beside infinities; a place that is none gives NaN.
#[test]
fn infinities_and_places_that_are_none() {
    let how = Sampling { between: Between::Linear, outside: Outside::Zeros, corners: true };
    let x = Array::contiguous(DType::F32, &[1, 1, 2, 2], |_| f64::INFINITY);
    let grid = Array::contiguous(DType::F32, &[1, 1, 3, 2], |i| [9.0, 9.0, f64::NAN, 0.0, 0.0, 0.0][i]);
    let y = Array::contiguous(DType::F32, &[1, 1, 1, 3], |_| 0.0);
    let y = found(Sampled::Output, how, &[&x, &grid], &y);
    assert!(y[0] == 0.0 && y[1].is_nan() && y[2] == f64::INFINITY, "{y:?}");
}

#[test]
fn wrong_shapes_are_errors() {
    let how = Sampling { between: Between::Linear, outside: Outside::Zeros, corners: false };
    let meta = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
    let fails = |x: &[usize], grid: &[usize], y: &[usize]| {
        let [x, grid, y] = [x, grid, y].map(meta);
        sample("test", how, Sampled::Output, &[&x, &grid], &y).is_err()
    };
    assert!(!fails(&[1, 2, 3, 4], &[1, 5, 6, 2], &[1, 2, 5, 6]));
    assert!(fails(&[1, 2, 3, 4], &[1, 5, 6, 3], &[1, 2, 5, 6]));
    assert!(fails(&[1, 2, 3, 4], &[2, 5, 6, 2], &[1, 2, 5, 6]));
    assert!(fails(&[1, 2, 3, 4], &[1, 5, 6, 2], &[1, 2, 6, 5]));
    assert!(fails(&[1, 2, 0, 4], &[1, 5, 6, 2], &[1, 2, 5, 6]));
    assert!(fails(&[1, 2, 3], &[1, 5, 2], &[1, 2, 5]));
}
