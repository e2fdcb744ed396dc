//! Images at the places of a grid.

use opforge::declaration::{Array, each_index};
use opforge_tile::forms::{Between, Outside, Sampled, Sampling};

/// The filter's value at a distance.
fn filter(between: Between, distance: f64) -> f64 {
    match (between, distance.abs()) {
        (Between::Nearest, x) => f64::from(u8::from(x == 0.0)),
        (Between::Linear, x) => (1.0 - x).max(0.0),
        (Between::Cubic, x) if x < 1.0 => (1.25 * x - 2.25) * x * x + 1.0,
        (Between::Cubic, x) if x < 2.0 => ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0,
        (Between::Cubic, _) => 0.0,
    }
}

fn inside(sampling: Sampling, n: f64, mut at: f64) -> f64 {
    let (low, high) = if sampling.corners { (0.0, n - 1.0) } else { (-0.5, n - 0.5) };
    match sampling.outside {
        Outside::Zeros => return at,
        Outside::Border => {}
        Outside::Reflection => {
            while low < high && (at < low || at > high) {
                at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
            }
        }
    }
    at.clamp(0.0, n - 1.0)
}

/// How much of element `j` of `n` is at a number of the grid.
fn share(sampling: Sampling, n: usize, j: usize, at: f64) -> f64 {
    let (len, element) = (n as f64, j as f64);
    let span = if sampling.corners { len - 1.0 } else { len };
    let at = (at * span + len - 1.0) / 2.0;
    match sampling.between {
        Between::Nearest => filter(sampling.between, inside(sampling, len, at).round_ties_even() - element),
        Between::Linear => filter(sampling.between, inside(sampling, len, at) - element),
        Between::Cubic => {
            let near = (-2..3).map(|k| at.floor() + f64::from(k));
            near.filter(|&k| inside(sampling, len, k) == element).map(|k| filter(sampling.between, at - k)).sum()
        }
    }
}

/// The derivative of [`share`] by the grid's number; samples keep away from places without one.
fn slope(sampling: Sampling, n: usize, j: usize, at: f64) -> f64 {
    const STEP: f64 = 1.0 / 1024.0;
    // A rule of five points is exact for polynomials of the fourth degree.
    let of = |steps: f64| share(sampling, n, j, at + steps * STEP);
    (of(-2.0) - 8.0 * of(-1.0) + 8.0 * of(1.0) - of(2.0)) / (12.0 * STEP)
}

pub fn sample(sampling: Sampling, part: Sampled, x: &[Array], shape: &[usize]) -> Array {
    let (grid, mut out) = (&x[x.len() - 1], Array::from_fn(shape, |_| 0.0));
    let image = match part {
        Sampled::Output => &x[0].shape[..],
        Sampled::Image => shape,
        Sampled::Grid => &x[1].shape[..],
    };
    let (rank, spatial) = (image.len(), image.len() - 2);
    let places = |shape: &[usize], at: &[usize]| at.iter().zip(shape).fold(0, |place, (&i, &n)| place * n + i);
    let samples = [&image[..2], &grid.shape[1..rank - 1]].concat();
    each_index(&samples, |y| {
        let at: Vec<usize> = [&y[..1], &y[2..], &[0]].concat();
        let first = places(&grid.shape, &at);
        let number = |d: usize| grid.data[first + spatial - 1 - d];
        each_index(&image[2..], |element| {
            let of =
                |d: usize, f: fn(Sampling, usize, usize, f64) -> f64| f(sampling, image[2 + d], element[d], number(d));
            let (own, sampled) = (places(image, &[&y[..2], element].concat()), places(&samples, y));
            let weight: f64 = (0..spatial).map(|d| of(d, share)).product();
            match part {
                Sampled::Output => out.data[sampled] += weight * x[0].data[own],
                Sampled::Image => out.data[own] += weight * x[0].data[sampled],
                Sampled::Grid => {
                    for by in 0..spatial {
                        let product: f64 = (0..spatial).map(|d| of(d, if d == by { slope } else { share })).product();
                        out.data[first + spatial - 1 - by] += product * x[1].data[own] * x[0].data[sampled];
                    }
                }
            }
        });
    });
    out
}
