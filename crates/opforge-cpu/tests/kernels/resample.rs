//! Resampling beside plain loops over all taps.

use opforge_core::{DType, Meta, Scalar};
use opforge_cpu::resample::*;
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, epsilon, layouts, noise, run};

const FILTERS: [Filter; 6] =
    [Filter::Nearest, Filter::NearestExact, Filter::Linear, Filter::Cubic, Filter::Triangle, Filter::SmoothCubic];
/// Input and output dimensions, three of them spatial: more and fewer elements, vectors, tails and single elements.
const CASES: [([usize; 4], [usize; 4]); 5] = [
    ([2, 1, 5, 33], [2, 1, 10, 66]),
    ([1, 2, 9, 70], [1, 3, 4, 20]),
    ([3, 1, 1, 7], [3, 1, 6, 40]),
    ([1, 1, 40, 90], [1, 1, 3, 1]),
    ([2, 3, 4, 18], [2, 3, 4, 50]),
];

fn stretches(filter: Filter, corners: bool, from: &[usize], to: &[usize]) -> Stretches {
    let scale = |d: usize| Scalar::Float(from[d + 1] as f64 / to[d + 1] as f64);
    std::array::from_fn(|d| Stretch { filter, scale: scale(d), corners })
}

/// The matrix of one dimension.
fn matrix(how: &Stretch, from: usize, to: usize) -> Vec<Vec<f64>> {
    let taps = opforge_cpu::internals::taps(how, from, to).unwrap();
    let mut rows = vec![vec![0.0; from]; to];
    for (i, row) in rows.iter_mut().enumerate() {
        taps.of(i).iter().for_each(|&(place, weight)| row[place] += weight);
    }
    rows
}

/// The products of a plane's map: new place, old place, weight.
fn products(how: &Stretches, from: &[usize; 4], to: &[usize; 4]) -> Vec<(usize, usize, f64)> {
    let mut all = vec![(0, 0, 1.0)];
    for d in 0..3 {
        let rows = matrix(&how[d], from[d + 1], to[d + 1]);
        let mut next = Vec::new();
        for &(i, j, weight) in &all {
            for (k, row) in rows.iter().enumerate() {
                let taken = row.iter().enumerate().filter(|(_, w)| **w != 0.0);
                next.extend(taken.map(|(l, w)| (i * to[d + 1] + k, j * from[d + 1] + l, weight * w)));
            }
        }
        all = next;
    }
    all
}

#[track_caller]
fn near(got: &Array, expected: &[f64], tolerance: f64) {
    for (i, (got, want)) in got.values().into_iter().zip(expected).enumerate() {
        assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "element {i}: {got}, expected {want}");
    }
}

#[test]
fn every_filter_both_ways_in_every_dtype() {
    for (from, to) in CASES {
        for (filter, corners) in FILTERS.into_iter().flat_map(|f| [(f, false), (f, true)]) {
            let how = stretches(filter, corners, &from, &to);
            let map = products(&how, &from, &to);
            let (olds, news) = (from[1..].iter().product::<usize>(), to[1..].iter().product::<usize>());
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                let x = Array::new(dtype, layouts(&from).swap_remove(2), noise);
                let dy = Array::new(dtype, layouts(&to).swap_remove(0), noise);
                let (y, dx) = (Meta::contiguous(dtype, to), Meta::contiguous(dtype, from));
                let (mut expected, mut expected_dx) = (vec![0.0; from[0] * news], vec![0.0; from[0] * olds]);
                let (given, given_dy) = (x.values(), dy.values());
                for plane in 0..from[0] {
                    for &(i, j, weight) in &map {
                        expected[plane * news + i] += weight * given[plane * olds + j];
                        expected_dx[plane * olds + j] += weight * given_dy[plane * news + i];
                    }
                }
                for isa in Isa::supported() {
                    let kernel = with_isa(isa, || resample("test", &how, 3, &x.meta, &y)).unwrap();
                    near(&run(&*kernel, &[&x], std::slice::from_ref(&y))[0], &expected, 8.0 * epsilon(dtype));
                    let kernel = with_isa(isa, || resample_gradient("test", &how, 3, &dy.meta, &dx)).unwrap();
                    near(&run(&*kernel, &[&dy], std::slice::from_ref(&dx))[0], &expected_dx, 40.0 * epsilon(dtype));
                }
            }
        }
    }
}

#[test]
fn positions_are_where_they_belong() {
    let of = |filter, corners, from: usize, to: usize| {
        let how = Stretch { filter, scale: Scalar::Float(from as f64 / to as f64), corners };
        matrix(&how, from, to)
    };
    assert_eq!(of(Filter::Nearest, false, 2, 3), [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(of(Filter::NearestExact, false, 3, 2), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    assert_eq!(of(Filter::Linear, false, 2, 4), [[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]]);
    assert_eq!(of(Filter::Linear, true, 2, 3), [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]);
    assert_eq!(of(Filter::Triangle, false, 4, 1), [[0.625 / 3.0, 0.875 / 3.0, 0.875 / 3.0, 0.625 / 3.0]]);
    // The cubic filter at a half: -3/32, 19/32, 19/32, -3/32.
    assert_eq!(of(Filter::Cubic, false, 4, 2)[0], [0.5, 19.0 / 32.0, -3.0 / 32.0, 0.0]);
}

#[test]
fn the_nearest_are_of_any_dtype_and_bits() {
    for (from, to) in CASES {
        let how = stretches(Filter::Nearest, false, &from, &to);
        let map = products(&how, &from, &to);
        for dtype in [DType::U8, DType::I16, DType::I32, DType::I64, DType::Bool, DType::F32] {
            let x = Array::new(dtype, layouts(&from).swap_remove(0), |i| match dtype {
                DType::F32 if i % 3 == 0 => f64::NEG_INFINITY,
                DType::Bool => (i % 2) as f64,
                _ => (i % 100) as f64,
            });
            let y = Meta::contiguous(dtype, to);
            let (olds, news) = (from[1..].iter().product::<usize>(), to[1..].iter().product::<usize>());
            let given = x.values();
            let mut expected = vec![0.0; from[0] * news];
            for plane in 0..from[0] {
                map.iter().for_each(|&(i, j, _)| expected[plane * news + i] = given[plane * olds + j]);
            }
            for isa in Isa::supported() {
                let kernel = with_isa(isa, || resample("test", &how, 3, &x.meta, &y)).unwrap();
                assert_eq!(run(&*kernel, &[&x], std::slice::from_ref(&y))[0].values(), expected, "{dtype} {isa:?}");
            }
        }
    }
}

#[test]
fn what_nothing_is_taken_of_may_be_infinite() {
    let how = stretches(Filter::Linear, false, &[1, 1, 2, 40], &[1, 1, 3, 25]);
    let x = Array::contiguous(DType::F32, &[1, 1, 2, 40], |i| if i == 0 { f64::INFINITY } else { 1.0 });
    let kernel = resample("test", &how, 3, &x.meta, &Meta::contiguous(DType::F32, [1, 1, 3, 25])).unwrap();
    let y = run(&*kernel, &[&x], &[Meta::contiguous(DType::F32, [1, 1, 3, 25])])[0].values();
    assert!(!y.iter().any(|y| y.is_nan()) && y[0].is_infinite() && y[24] == 1.0, "{y:?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let meta = |dtype, dims: &[usize]| Meta::contiguous(dtype, dims);
    let x = meta(DType::F32, &[2, 3, 4]);
    let how = [Stretch::NONE; 3];
    for (x, y, spatial) in [
        (&x, meta(DType::F32, &[1, 3, 4]), 1),
        (&x, meta(DType::F64, &[2, 3, 8]), 1),
        (&x, meta(DType::F32, &[2, 3]), 1),
        (&x, meta(DType::F32, &[2, 3, 4]), 4),
        (&meta(DType::F32, &[2, 3, 0]), meta(DType::F32, &[2, 3, 4]), 1),
    ] {
        assert!(resample("test", &how, spatial, x, &y).is_err());
        assert!(resample_gradient("test", &how, spatial, &y, x).is_err());
    }
    let linear = Stretch { filter: Filter::Linear, scale: Scalar::Float(0.5), corners: false };
    let (x, y) = (meta(DType::I32, &[1, 1, 4]), meta(DType::I32, &[1, 1, 8]));
    assert!(resample("test", &[Stretch::NONE, Stretch::NONE, linear], 1, &x, &y).is_err());
}
