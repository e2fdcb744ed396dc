//! Fourier transforms as sums of waves.

use std::f64::consts::TAU;

use opforge::declaration::Array;
use opforge_tile::forms::{Fourier, Spectrum};

pub fn fourier(form: &Fourier, x: &Array, shape: &[usize]) -> Array {
    let (factor, lead) = (form.factor.to_f64(), x.shape.len() - if form.spectrum.is_of_real() { 1 } else { 2 });
    let n = if let Spectrum::ToReal { .. } = form.spectrum { shape[lead] } else { x.shape[lead] };
    let pair = |row: &[usize], j: usize| [0, 1].map(|part| x.at(&[row, &[j, part]].concat()));
    // The whole line as complex numbers.
    let at = |row: &[usize], j: usize| match form.spectrum {
        Spectrum::OfReal | Spectrum::OfRealToAll => [x.at(&[row, &[j]].concat()), 0.0],
        Spectrum::Complex { .. } => pair(row, j),
        Spectrum::ToReal { .. } if j == 0 || 2 * j == n => [pair(row, j)[0], 0.0],
        Spectrum::ToReal { .. } if j > n / 2 => [pair(row, n - j)[0], -pair(row, n - j)[1]],
        Spectrum::ToReal { .. } => pair(row, j),
    };
    let forward = form.spectrum.is_of_real() || form.spectrum == Spectrum::Complex { inverse: false };
    let sign = if forward { -1.0 } else { 1.0 };
    Array::from_fn(shape, |i| {
        let (row, k, part) = (&i[..lead], i[lead], i.get(lead + 1).copied().unwrap_or(0));
        let term = |j: usize| {
            let ((sin, cos), [a, b]) = ((sign * TAU * (j * k % n) as f64 / n as f64).sin_cos(), at(row, j));
            [a * cos - b * sin, a * sin + b * cos][part]
        };
        factor * (0..n).map(term).sum::<f64>()
    })
}
