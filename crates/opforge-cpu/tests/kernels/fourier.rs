//! Transforms are the sums that define them, in every layout.

use std::f64::consts::TAU;

use opforge_core::{DType, Layout, Meta, Result, Scalar};
use opforge_cpu::fourier::fourier;
use opforge_tile::forms::{Fourier, Spectrum};

use crate::testing::{Array, epsilon, layouts, noise, run};

/// The lengths have small factors, a large prime one, and none.
const LENGTHS: [usize; 10] = [1, 2, 3, 4, 7, 12, 16, 47, 64, 202];

/// `sum x[j] e^(+-2 pi i j k / n)` of pairs.
fn sums(x: &[[f64; 2]], sign: f64) -> Vec<[f64; 2]> {
    let n = x.len();
    let sum = |k: usize| {
        x.iter().enumerate().fold([0.0; 2], |[re, im], (j, [a, b])| {
            let (sin, cos) = (sign * TAU * (j * k % n) as f64 / n as f64).sin_cos();
            [re + a * cos - b * sin, im + a * sin + b * cos]
        })
    };
    (0..n).map(sum).collect()
}

/// All `n` numbers of which the first half is given.
fn whole(half: &[[f64; 2]], n: usize) -> Vec<[f64; 2]> {
    let real_end = |k: usize| k == 0 || 2 * k == n;
    let at = |k: usize| if real_end(k) { [half[k][0], 0.0] } else { half[k] };
    (0..n).map(|k| if k <= n / 2 { at(k) } else { [half[n - k][0], -half[n - k][1]] }).collect()
}

fn check(spectrum: Spectrum, from: &[usize], to: &[usize], wanted: impl Fn(&[f64]) -> Vec<f64>) -> Result<()> {
    let form = Fourier { spectrum, factor: Scalar::Float(0.5) };
    let n: usize = from.iter().product();
    for dtype in [DType::F32, DType::F64] {
        for layout in layouts(&[&[2, 3], from].concat()) {
            let x = Array::new(dtype, layout, noise);
            for layout in layouts(&[&[2, 3], to].concat()).into_iter().filter(|layout| !layout.may_overlap_itself()) {
                let output = Meta { dtype, layout };
                let out = run(&*fourier("fourier", form, &x.meta, &output)?, &[&x], &[output])[0].values();
                let wanted: Vec<f64> = x.values().chunks(n).flat_map(&wanted).map(|y| y * 0.5).collect();
                let close = epsilon(dtype) * 8.0 * (2.0 + n as f64).log2() * (n as f64).sqrt();
                for (y, wanted) in out.iter().zip(&wanted) {
                    assert!((y - wanted).abs() <= close, "{spectrum:?} of {from:?}: {y}, not {wanted}");
                }
            }
        }
    }
    Ok(())
}

fn pairs(x: &[f64]) -> Vec<[f64; 2]> {
    x.chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
fn transforms_are_sums_of_waves() -> Result<()> {
    for n in LENGTHS {
        let half = n / 2 + 1;
        for inverse in [false, true] {
            let sign = if inverse { 1.0 } else { -1.0 };
            let wanted = |x: &[f64]| sums(&pairs(x), sign).concat();
            check(Spectrum::Complex { inverse }, &[n, 2], &[n, 2], wanted)?;
        }
        let wanted = |x: &[f64]| {
            let x: Vec<[f64; 2]> = x.iter().map(|&x| [x, 0.0]).collect();
            sums(&x, -1.0)[..half].concat()
        };
        check(Spectrum::OfReal, &[n], &[half, 2], wanted)?;
        let wanted = |x: &[f64]| sums(&x.iter().map(|&x| [x, 0.0]).collect::<Vec<_>>(), -1.0).concat();
        check(Spectrum::OfRealToAll, &[n], &[n, 2], wanted)?;
        let wanted = |x: &[f64]| sums(&whole(&pairs(x), n), 1.0).iter().map(|y| y[0]).collect();
        check(Spectrum::ToReal { odd: n % 2 == 1 }, &[half, 2], &[n], wanted)?;
    }
    Ok(())
}

#[test]
fn lengths_that_do_not_go_together_are_errors() {
    let meta = |dims: &[usize], dtype| Meta { dtype, layout: Layout::contiguous(dims) };
    let refused = |spectrum, from: &[usize], to: &[usize], dtype| {
        let form = Fourier { spectrum, factor: Scalar::Float(1.0) };
        assert!(
            fourier("fourier", form, &meta(from, dtype), &meta(to, dtype)).is_err(),
            "{spectrum:?} {from:?} {to:?}"
        );
    };
    refused(Spectrum::Complex { inverse: false }, &[4, 2], &[5, 2], DType::F32);
    refused(Spectrum::Complex { inverse: false }, &[4, 3], &[4, 3], DType::F32);
    refused(Spectrum::Complex { inverse: false }, &[3, 0, 2], &[3, 0, 2], DType::F32);
    refused(Spectrum::OfReal, &[4], &[4, 2], DType::F32);
    refused(Spectrum::OfReal, &[2, 4], &[3, 3, 2], DType::F32);
    refused(Spectrum::ToReal { odd: true }, &[3, 2], &[4], DType::F64);
    refused(Spectrum::ToReal { odd: false }, &[3, 2], &[4], DType::F16);
}
