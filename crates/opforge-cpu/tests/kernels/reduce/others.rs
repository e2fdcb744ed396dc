//! Positions, truth values and moments.

use opforge_core::Scalar;
use opforge_tile::forms::{Extreme, Spread};

use super::*;

fn over(axes: &[usize], root: bool) -> Spread {
    Spread { axes: axes.to_vec(), correction: Scalar::Int(0), root }
}

fn variance(g: &[f64]) -> f64 {
    let mean = sum(g) / g.len() as f64;
    exact_sum(g.iter().map(|x| (x - mean) * (x - mean))) / g.len() as f64
}

/// The first position that no other beats.
fn position(g: &[f64], extreme: Extreme) -> f64 {
    let beats = |a: f64, b: f64| !b.is_nan() && (a.is_nan() || if extreme == Extreme::Max { a > b } else { a < b });
    (1..g.len()).fold(0, |best, i| if beats(g[i], g[best]) { i } else { best }) as f64
}

#[test]
fn positions_over_all_axes_and_layouts() {
    for_every_case(|dims, layout, _| {
        for axis in 0..dims.len() {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64, DType::U8, DType::I16, DType::I64] {
                let input = Array::new(dtype, layout.clone(), noise);
                for extreme in [Extreme::Max, Extreme::Min] {
                    let out = if dtype == DType::F64 { DType::U32 } else { DType::I64 };
                    check_kernel(
                        &input,
                        &[axis],
                        out,
                        |g| position(g, extreme),
                        |output| arg_reduce("arg", extreme, &input.meta, axis, output),
                    );
                }
            }
        }
    });
}

#[test]
fn the_first_nan_is_the_extreme() {
    for dims in [&[3000usize, 1][..], &[300, 40], &[3000, 8], &[1001, 31], &[200_000, 1]] {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            let special = |i: usize| match i {
                77 => -0.0,
                2000 | 2999 => f64::NAN,
                2998 => f64::INFINITY,
                i => noise(i),
            };
            let input = Array::contiguous(dtype, dims, special);
            for extreme in [Extreme::Max, Extreme::Min] {
                check_kernel(
                    &input,
                    &[0],
                    DType::I64,
                    |g| position(g, extreme),
                    |output| arg_reduce("arg", extreme, &input.meta, 0, output),
                );
            }
        }
    }
}

#[test]
fn truth_over_all_axes_and_layouts() {
    for_every_case(|_, layout, axes| {
        for dtype in [DType::Bool, DType::U8, DType::F16, DType::I32, DType::F32, DType::F64] {
            let n = layout.elem_count();
            let cases: [&dyn Fn(usize) -> f64; 4] =
                [&|_| 0.0, &|_| 1.0, &|i| f64::from(u8::from(i != n / 2)), &|i| f64::from(u8::from(i == n / 3))];
            for value in cases {
                let input = Array::new(dtype, layout.clone(), value);
                let any = |g: &[f64]| f64::from(u8::from(g.iter().any(|&x| x != 0.0)));
                let all = |g: &[f64]| f64::from(u8::from(g.iter().all(|&x| x != 0.0)));
                check_kernel(&input, axes, DType::Bool, any, |out| {
                    Ok(reduce_truth("any", TruthReducer::Any, &input.meta, axes, out)?)
                });
                check_kernel(&input, axes, DType::U8, all, |out| {
                    Ok(reduce_truth("all", TruthReducer::All, &input.meta, axes, out)?)
                });
            }
        }
    });
}

#[test]
fn negative_zero_is_false_and_nan_is_true() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let input = Array::contiguous(dtype, &[2, 3], |i| if i == 4 { f64::NAN } else { -0.0 });
        let output = Meta::contiguous(DType::Bool, 2);
        let kernel = reduce_truth("any", TruthReducer::Any, &input.meta, &[1], &output).expect("a valid reduction");
        assert_eq!(run(&*kernel, &[&input], &[output])[0].values(), [0.0, 1.0]);
    }
}

#[test]
fn variances_over_all_axes_and_layouts() {
    for_every_case(|_, layout, axes| {
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let input = Array::new(dtype, layout.clone(), noise);
            check_kernel(&input, axes, dtype, variance, |out| spread("var", &over(axes, false), &input.meta, out));
        }
    });
}

#[test]
fn variance_far_from_zero_keeps_its_digits() {
    for dims in [&[1_000_000usize][..], &[100_000, 10]] {
        let input = Array::contiguous(DType::F32, dims, |i| 10_000.0 + noise(i));
        let output = Meta::contiguous(DType::F32, dims.get(1).copied().unwrap_or(1));
        let kernel = spread("var", &over(&[0], false), &input.meta, &output).expect("a valid reduction");
        let got = run(&*kernel, &[&input], &[output])[0].values();
        for (g, group) in got.iter().zip(groups(&input, &[0])) {
            let exact = variance(&group);
            assert!((g - exact).abs() <= 1e-3 * exact, "{dims:?}: {g}, not {exact}");
        }
    }
}

#[test]
fn no_position_in_an_empty_axis() {
    let out = Meta::contiguous(DType::I64, 2);
    assert!(arg_reduce("argmax", Extreme::Max, &Meta::contiguous(DType::F32, (2, 0)), 1, &out).is_err());
    let none = Meta::contiguous(DType::I64, 0);
    assert!(arg_reduce("argmax", Extreme::Max, &Meta::contiguous(DType::F32, (0, 0)), 1, &none).is_ok());
}

/// Squares of these overflow; what can be represented is right, and what cannot is infinite.
#[test]
fn moments_of_large_numbers() {
    for dtype in [DType::BF16, DType::F32, DType::F64] {
        let large = if dtype == DType::F64 { 1e300 } else { 1e20 };
        let most = if dtype == DType::F64 { f64::MAX } else { f64::from(opforge_core::bf16::MAX.to_f32()) };
        for (least, greatest) in [(large, 3.0 * large), (-most, most), (1.0, 3.0)] {
            for dims in [[2, 1], [50, 3], [1000, 40], [64, 1]] {
                for layout in crate::testing::layouts(&dims) {
                    if layout.stride()[0] == 0 {
                        continue;
                    }
                    let row = |i: usize| (i / dims[1]).is_multiple_of(2);
                    let input = Array::new(dtype, layout, |i| if row(i) { least } else { greatest });
                    let output = Meta::contiguous(dtype, dims[1]);
                    let values = |kernel: Result<Arc<dyn HostKernel>>| {
                        run(&*kernel.unwrap(), &[&input], std::slice::from_ref(&output))[0].values()
                    };
                    let deviations = values(spread("std", &over(&[0], true), &input.meta, &output));
                    let variances = values(spread("var", &over(&[0], false), &input.meta, &output));
                    let expected = greatest / 2.0 - least / 2.0;
                    for (deviation, variance) in deviations.into_iter().zip(variances) {
                        let close = (deviation / expected - 1.0).abs() < 64.0 * epsilon(dtype);
                        assert!(close, "{dtype} {dims:?}: a deviation of {deviation}, not {expected}");
                        assert_eq!(variance.is_finite(), expected < 2.0, "{dtype} {dims:?}: a variance of {variance}");
                        assert!(!variance.is_nan(), "{dtype} {dims:?}");
                    }
                }
            }
        }
    }
}

/// Whatever overflows elsewhere; that of too few is infinite.
#[test]
fn moments_of_small_numbers_beside_large_ones() {
    let input = Array::contiguous(DType::F32, &[3, 2], |i| [1.0, 3.0, 1e30, -1e30, 1.0, f64::INFINITY][i]);
    let output = Meta::contiguous(DType::F32, 3);
    for (correction, expected) in [(0.0, 1.0), (5.0, f64::INFINITY)] {
        let form = Spread { axes: vec![1], correction: Scalar::Float(correction), root: false };
        let kernel = spread("var", &form, &input.meta, &output).expect("a valid reduction");
        let found = run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values();
        assert!(found[0] == expected && found[1] == f64::INFINITY && found[2].is_nan(), "{found:?}");
    }
}

/// A byte of a bool that is neither 0 nor 1, as other libraries may leave there, is true.
#[test]
fn any_byte_but_zero_is_true() {
    let bytes = Array::contiguous(DType::U8, &[4], |i| [0.0, 255.0, 1.0, 2.0][i]);
    let meta = Meta::contiguous(DType::Bool, 4);
    let values = |kernel: Result<Arc<dyn HostKernel>>, dtype| {
        run(&*kernel.unwrap(), &[&bytes], &[Meta::contiguous(dtype, ())])[0].values()
    };
    let sum = reduce("sum", Sum, &meta, &[0], &Meta::contiguous(DType::I64, ()));
    assert_eq!(values(sum.map(|kernel| kernel as _), DType::I64), [3.0]);
    let arg = arg_reduce("arg", Extreme::Max, &meta, 0, &Meta::contiguous(DType::I64, ()));
    assert_eq!(values(arg, DType::I64), [1.0]);
}
