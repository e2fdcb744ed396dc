//! Reductions against plain loops.

mod others;

use std::sync::Arc;

use opforge_core::{DType, Layout, Meta, Result, f16};
use opforge_cpu::reduce::*;
use opforge_cpu::simd::{Float, Int, Isa, with_isa};
use opforge_runtime::HostKernel;

use crate::testing::{Array, Threads, epsilon, exact_sum, layouts, noise, run};

#[derive(Clone, Copy)]
struct Sum;
impl Reducer for Sum {
    const INTEGERS: Integers = Integers::Widen;
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

#[derive(Clone, Copy)]
struct MeanSquare;
impl Reducer for MeanSquare {
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn map<V: Float>(self, x: V) -> V {
        x * x
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn finish<V: Float>(self, acc: V, count: f64) -> V {
        acc / V::splat(count)
    }
}

#[derive(Clone, Copy)]
struct Max;
impl Reducer for Max {
    const INTEGERS: Integers = Integers::Same;
    fn identity(self) -> f64 {
        f64::NEG_INFINITY
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a.max(b)
    }
    #[inline(always)]
    fn int_identity<T: Int>(self) -> T {
        T::least()
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.greater(b)
    }
}

/// The groups of values that each output reduces, in row-major order of the outputs.
fn groups(input: &Array, axes: &[usize]) -> Vec<Vec<f64>> {
    let dims = input.meta.dims();
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !axes.contains(d)).collect();
    let mut groups = vec![Vec::new(); kept.iter().map(|&d| dims[d]).product()];
    for (i, value) in input.values().into_iter().enumerate() {
        let mut index = vec![0; dims.len()];
        let mut rest = i;
        for d in (0..dims.len()).rev() {
            index[d] = rest % dims[d];
            rest /= dims[d];
        }
        groups[kept.iter().fold(0, |at, &d| at * dims[d] + index[d])].push(value);
    }
    groups
}

fn subsets(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << rank).map(move |bits| (0..rank).filter(|d| bits >> d & 1 == 1).collect())
}

/// Reduces and compares with `naive` on every group.
fn check<R: Reducer>(reducer: R, input: &Array, axes: &[usize], out: DType, naive: impl Fn(&[f64]) -> f64) {
    check_kernel(input, axes, out, naive, |output| Ok(reduce("test", reducer, &input.meta, axes, output)?));
}

fn check_kernel(
    input: &Array,
    axes: &[usize],
    out: DType,
    naive: impl Fn(&[f64]) -> f64,
    prepare: impl Fn(&Meta) -> Result<Arc<dyn HostKernel>>,
) {
    let expected: Vec<f64> = groups(input, axes).iter().map(|g| naive(g)).collect();
    let output = Meta::contiguous(out, expected.len());
    let kernel = prepare(&output).expect("a valid reduction");
    let got = run(&*kernel, &[input], &[output])[0].values();
    for (i, (&g, &e)) in got.iter().zip(&expected).enumerate() {
        let tolerance = 8.0 * epsilon(out) * e.abs().max(1.0);
        let close = g == e || (g - e).abs() <= tolerance || (g.is_nan() && e.is_nan());
        assert!(close, "{:?} over {axes:?} output {i}: {g}, not {e}", input.meta);
    }
}

fn sum(g: &[f64]) -> f64 {
    exact_sum(g.iter().copied())
}
fn max(g: &[f64]) -> f64 {
    g.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
fn mean_square(g: &[f64]) -> f64 {
    exact_sum(g.iter().map(|x| x * x)) / g.len() as f64
}

const SHAPES: [&[usize]; 12] = [
    &[],
    &[1],
    &[37],
    &[2500],
    &[3, 70],
    &[70, 3],
    &[300, 5],
    &[9, 1100],
    &[5, 7, 33],
    &[40, 3, 5],
    &[3, 35, 19],
    &[2, 3, 4, 5],
];

fn for_every_case(mut case: impl FnMut(&[usize], &Layout, &[usize])) {
    for isa in Isa::supported() {
        with_isa(isa, || {
            for dims in SHAPES {
                for layout in layouts(dims) {
                    subsets(dims.len()).for_each(|axes| case(dims, &layout, &axes));
                }
            }
        });
    }
}

#[test]
fn floats_over_all_axes_and_layouts() {
    for_every_case(|_, layout, axes| {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let input = Array::new(dtype, layout.clone(), noise);
            check(Sum, &input, axes, dtype, sum);
            check(Max, &input, axes, dtype, max);
            check(MeanSquare, &input, axes, dtype, mean_square);
        }
    });
}

#[test]
fn integers_over_all_axes_and_layouts() {
    for_every_case(|_, layout, axes| {
        for dtype in [DType::U8, DType::I16, DType::I32, DType::I64] {
            let input = Array::new(dtype, layout.clone(), |i| noise(i) * 8.0);
            check(Sum, &input, axes, DType::I64, sum);
            check(Max, &input, axes, dtype, max);
        }
    });
}

#[test]
fn every_integer_dtype() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_int()) {
        let input = Array::contiguous(dtype, &[6, 50], |i| (i % 2) as f64);
        check(Sum, &input, &[1], dtype, sum);
        check(Sum, &input, &[0], DType::I64, sum);
        check(Max, &input, &[0], dtype, max);
    }
    let input = Array::contiguous(DType::Bool, &[6, 50], |i| (i % 2) as f64);
    check(Sum, &input, &[1], DType::I64, sum);
    check(Max, &input, &[1], DType::Bool, max);
}

#[test]
fn integer_sums_wrap_in_the_output_type() {
    let input = Array::contiguous(DType::U8, &[300], |_| 255.0);
    check(Sum, &input, &[0], DType::U8, |g| (sum(g) as u64 % 256) as f64);
}

#[test]
fn nan_and_infinity_propagate() {
    for dims in [&[1usize][..], &[40], &[5000], &[64, 40]] {
        let n: usize = dims.iter().product();
        for at in [0, n / 2, n - 1] {
            for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let input = Array::contiguous(DType::F32, dims, |i| if i == at { special } else { noise(i) });
                let nan_or = |naive: fn(&[f64]) -> f64| {
                    move |g: &[f64]| if g.iter().any(|x| x.is_nan()) { f64::NAN } else { naive(g) }
                };
                check(Sum, &input, &[0], DType::F32, sum);
                check(Max, &input, &[0], DType::F32, nan_or(max));
            }
        }
    }
}

#[test]
fn empty_reductions_give_the_identity() {
    let input = Array::contiguous(DType::F32, &[3, 0, 2], noise);
    check(Sum, &input, &[1], DType::F32, |_| 0.0);
    check(Max, &input, &[0, 1], DType::F32, |_| f64::NEG_INFINITY);
    check(Sum, &input, &[0], DType::F32, sum);
    let input = Array::contiguous(DType::I32, &[0], noise);
    check(Sum, &input, &[0], DType::I64, |_| 0.0);
}

#[test]
fn large_sums_are_accurate() {
    let n = 4_000_000;
    type Case = (&'static str, fn(usize) -> f64);
    let cases: [Case; 3] = [
        ("ones", |_| 1.0),
        ("one large, many small", |i| if i == 0 { 1e7 } else { 0.125 }),
        ("alternating", |i| if i % 2 == 0 { 1000.1 } else { -1000.0 }),
    ];
    // Twice what summation in pairs guarantees.
    let bound = (n as f64).log2() * epsilon(DType::F32);
    for (name, value) in cases {
        for dims in [&[n][..], &[n / 10, 10], &[2000, n / 2000]] {
            let input = Array::contiguous(DType::F32, dims, value);
            let exact: Vec<f64> = groups(&input, &[0]).iter().map(|g| sum(g)).collect();
            let magnitude: f64 = (0..n).step_by(exact.len()).map(|i| value(i).abs()).sum();
            let output = Meta::contiguous(DType::F32, exact.len());
            let kernel = reduce("sum", Sum, &input.meta, &[0], &output).expect("a valid reduction");
            let got = run(&*kernel, &[&input], &[output])[0].values();
            for (g, e) in got.iter().zip(&exact) {
                assert!((g - e).abs() <= bound * magnitude, "{name} {dims:?}: {g}, not {e}");
            }
        }
    }
}

#[test]
fn half_sums_round_once() {
    let input = Array::contiguous(DType::F16, &[4096], |_| 1.0 + 2f64.powi(-10));
    check(Sum, &input, &[0], DType::F16, |g| f16::from_f64(sum(g)).to_f64());
}

#[test]
fn wrong_requests_are_errors() {
    let input = Meta::contiguous(DType::F32, (2, 3));
    let out = |dtype, n: usize| Meta::contiguous(dtype, n);
    assert!(reduce("sum", Sum, &input, &[2], &out(DType::F32, 2)).is_err());
    assert!(reduce("sum", Sum, &input, &[1], &out(DType::F32, 3)).is_err());
    assert!(reduce("sum", Sum, &input, &[1], &out(DType::F64, 2)).is_err());
    assert!(reduce("mean", MeanSquare, &Meta::contiguous(DType::I32, (2, 3)), &[1], &out(DType::I32, 2)).is_err());
    assert!(reduce("sum", Sum, &Meta::contiguous(DType::C64, (2, 3)), &[1], &out(DType::C64, 2)).is_err());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for dims in [&[1_000_003][..], &[100_003, 10], &[10, 100_003], &[2000, 1000], &[3, 700, 500]] {
        let input = Array::contiguous(DType::F32, dims, |i| noise(i) * 1.37 + 0.01);
        for axes in subsets(dims.len()).skip(1) {
            let outputs = groups_len(dims, &axes);
            let output = Meta::contiguous(DType::F32, outputs);
            let kernel = reduce("sum", Sum, &input.meta, &axes, &output).expect("a valid reduction");
            let results = [1, 2, 5].map(|threads| {
                let _threads = Threads::set(threads);
                run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values()
            });
            assert!(results[0] == results[1] && results[0] == results[2], "{dims:?} over {axes:?}");
        }
    }
}

fn groups_len(dims: &[usize], axes: &[usize]) -> usize {
    (0..dims.len()).filter(|d| !axes.contains(d)).map(|d| dims[d]).product()
}
