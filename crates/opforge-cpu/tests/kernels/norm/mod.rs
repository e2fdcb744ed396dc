//! Softmax and norms beside plain loops in f64.

mod channels;

use std::sync::Arc;

use opforge_core::{DType, Meta, Result};
use opforge_cpu::norm::*;
use opforge_cpu::simd::{Isa, with_isa};
use opforge_runtime::HostKernel;
use opforge_tile::{Softmax, SoftmaxSlope};

use crate::testing::{Array, epsilon, exact_sum, layouts, noise, run};

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

fn for_every_isa(test: impl Fn()) {
    Isa::supported().for_each(|isa| with_isa(isa, &test));
}

/// The positions of every row along `axis` among the elements in row-major order.
fn rows(dims: &[usize], axis: usize) -> Vec<Vec<usize>> {
    let inner: usize = dims[axis + 1..].iter().product();
    let outer: usize = dims[..axis].iter().product();
    let row = |o: usize, i: usize| (0..dims[axis]).map(|k| (o * dims[axis] + k) * inner + i).collect();
    (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))).map(|(o, i)| row(o, i)).collect()
}

/// The function of rows and, where columns have a kernel of their own, that.
fn softmax(input: &Meta, axis: usize, kind: Softmax, output: &Meta) -> Result<Vec<Arc<dyn HostKernel>>> {
    let rows = opforge_cpu::rows::rows("softmax", kind, axis, [input], &[output])?;
    let columns = softmax_of_columns("softmax", input, axis, kind, output)?;
    Ok([Some(rows), columns].into_iter().flatten().collect())
}

/// Small logarithms are differences of larger numbers, and as accurate as those.
fn assert_close(got: &[f64], expected: &[f64], dtype: DType, kind: Softmax, what: &dyn std::fmt::Debug) {
    let floor = if kind == Softmax::Log { 1.0 } else { 1e-3 };
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let close = g == e || (g - e).abs() <= 8.0 * epsilon(dtype) * e.abs().max(floor) || (g.is_nan() && e.is_nan());
        assert!(close, "{what:?} element {i}: {g}, not {e}");
    }
}

fn naive_softmax(x: &[f64], dims: &[usize], axis: usize, kind: Softmax) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for row in rows(dims, axis) {
        let max = row.iter().map(|&i| x[i]).fold(f64::NEG_INFINITY, f64::max);
        let sum = exact_sum(row.iter().map(|&i| (x[i] - max).exp()));
        for i in row {
            y[i] = match kind {
                Softmax::Plain => (x[i] - max).exp() / sum,
                Softmax::Log => x[i] - max - sum.ln(),
            };
        }
    }
    y
}

fn check_softmax(input: &Array, axis: usize, kind: Softmax) {
    let (dims, dtype) = (input.meta.dims(), input.meta.dtype);
    let output = Meta::contiguous(dtype, dims);
    let expected = naive_softmax(&input.values(), dims, axis, kind);
    for kernel in softmax(&input.meta, axis, kind, &output).expect("a valid softmax") {
        let got = run(&*kernel, &[input], std::slice::from_ref(&output))[0].values();
        assert_close(&got, &expected, dtype, kind, &(&input.meta, axis));
    }
}

#[test]
fn softmax_over_every_axis_and_layout() {
    for_every_isa(|| {
        for dims in [&[1usize][..], &[37], &[3000], &[5, 33], &[70, 3], &[4, 9, 40], &[3, 130, 35]] {
            for layout in layouts(dims) {
                for dtype in FLOATS {
                    let input = Array::new(dtype, layout.clone(), noise);
                    for axis in 0..dims.len() {
                        check_softmax(&input, axis, Softmax::Plain);
                        check_softmax(&input, axis, Softmax::Log);
                    }
                }
            }
        }
    });
}

#[test]
fn softmax_of_special_values() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [
        [-inf, -inf, -inf, -inf],
        [-inf, 0.0, 1.0, -inf],
        [inf, 0.0, 1.0, 2.0],
        [nan, 0.0, 1.0, 2.0],
        [1000.0, 999.0, -1000.0, 1000.0],
        [-1e4, -1e4, -1e4, -1e4],
    ];
    for_every_isa(|| {
        for dtype in [DType::F32, DType::F64] {
            let by_rows = Array::contiguous(dtype, &[6, 4], |i| rows[i / 4][i % 4]);
            let by_columns = Array::contiguous(dtype, &[4, 12], |i| rows[i % 12 / 2][i / 12]);
            for kind in [Softmax::Plain, Softmax::Log] {
                for (input, axis) in [(&by_rows, 1), (&by_columns, 0)] {
                    let output = Meta::contiguous(dtype, input.meta.dims());
                    let mut expected = naive_softmax(&input.values(), input.meta.dims(), axis, kind);
                    // f64::max passes NaN over.
                    let row_of = |i: usize| if axis == 1 { i / 4 } else { i % 12 / 2 };
                    expected.iter_mut().enumerate().filter(|(i, _)| row_of(*i) == 3).for_each(|(_, e)| *e = nan);
                    for kernel in softmax(&input.meta, axis, kind, &output).expect("a valid softmax") {
                        let got = run(&*kernel, &[input], std::slice::from_ref(&output))[0].values();
                        assert_close(&got, &expected, dtype, kind, &axis);
                    }
                }
            }
        }
    });
}

/// y, and mean and rstd of every row.
fn naive_norm(x: &[f64], len: usize, centered: bool, w: &[f64], b: &[f64]) -> [Vec<f64>; 3] {
    let (mut y, mut means, mut rstds) = (Vec::new(), Vec::new(), Vec::new());
    for row in x.chunks(len) {
        let mean = if centered { exact_sum(row.iter().copied()) / len as f64 } else { 0.0 };
        let variance = exact_sum(row.iter().map(|x| (x - mean) * (x - mean))) / len as f64;
        let rstd = 1.0 / (variance + 1e-5).sqrt();
        y.extend(row.iter().enumerate().map(|(i, x)| (x - mean) * rstd * w[i] + b[i]));
        means.push(mean);
        rstds.push(rstd);
    }
    [y, means, rstds]
}

#[test]
fn norms_of_every_dtype_and_layout() {
    for_every_isa(|| {
        for dims in [&[3usize][..], &[37], &[5, 33], &[3, 2000], &[4, 9, 40]] {
            let len = dims[dims.len() - 1];
            for (layout, dtype) in layouts(dims).into_iter().flat_map(|l| FLOATS.map(|d| (l.clone(), d))) {
                let input = Array::new(dtype, layout, noise);
                let weight = Array::contiguous(dtype, &[len], |i| noise(i + 7) + 0.5);
                let bias = Array::contiguous(dtype, &[len], |i| noise(i + 99));
                check_norms(&input, &weight, &bias);
            }
        }
    });
}

fn check_norms(input: &Array, weight: &Array, bias: &Array) {
    let (dtype, len) = (input.meta.dtype, weight.meta.elem_count());
    let (ones, zeros) = (vec![1.0; len], vec![0.0; len]);
    let y = Meta::contiguous(dtype, input.meta.dims());
    let stat = Meta::contiguous(stats_dtype(dtype), input.meta.elem_count() / len);
    let x = input.values();
    let tolerance = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let near = |got: &[f64], expected: &[f64], dtype: DType| {
        for (g, e) in got.iter().zip(expected) {
            assert!((g - e).abs() <= 16.0 * epsilon(dtype) * e.abs().max(4.0), "{:?}: {g}, not {e}", input.meta);
        }
    };

    let kernel = layer_norm("layer_norm", &input.meta, Some(&weight.meta), Some(&bias.meta), 1e-5, &y, true);
    let got = run(&*kernel.expect("valid"), &[input, weight, bias], &[y.clone(), stat.clone(), stat.clone()]);
    let expected = naive_norm(&x, len, true, &weight.values(), &bias.values());
    near(&got[0].values(), &expected[0], dtype);
    near(&got[1].values(), &expected[1], tolerance);
    near(&got[2].values(), &expected[2], tolerance);

    let kernel = layer_norm("layer_norm", &input.meta, None, Some(&bias.meta), 1e-5, &y, false);
    let got = run(&*kernel.expect("valid"), &[input, bias], std::slice::from_ref(&y));
    near(&got[0].values(), &naive_norm(&x, len, true, &ones, &bias.values())[0], dtype);

    let kernel = rms_norm("rms_norm", &input.meta, Some(&weight.meta), 1e-5, &y, true);
    let got = run(&*kernel.expect("valid"), &[input, weight], &[y, stat]);
    let expected = naive_norm(&x, len, false, &weight.values(), &zeros);
    near(&got[0].values(), &expected[0], dtype);
    near(&got[1].values(), &expected[2], tolerance);
}

#[test]
fn empty_rows_and_no_rows() {
    for dims in [[0usize, 3], [3, 0]] {
        let input = Array::contiguous(DType::F32, &dims, noise);
        for axis in 0..2 {
            check_softmax(&input, axis, Softmax::Plain);
        }
        let output = Meta::contiguous(DType::F32, dims);
        let kernel = layer_norm("layer_norm", &input.meta, None, None, 1e-5, &output, false).expect("valid");
        assert!(run(&*kernel, &[&input], &[output])[0].values().is_empty());
    }
}

#[test]
fn wrong_requests_are_errors() {
    let x = Meta::contiguous(DType::F32, (2, 3));
    let other = Meta::contiguous(DType::F32, (3, 2));
    let ints = Meta::contiguous(DType::I32, (2, 3));
    let weight = |n: usize| Meta::contiguous(DType::F32, n);
    assert!(softmax(&x, 2, Softmax::Plain, &x).is_err());
    assert!(softmax(&x, 0, Softmax::Plain, &other).is_err());
    assert!(softmax(&ints, 0, Softmax::Plain, &ints).is_err());
    for outputs in [&[][..], &[&x; 6]] {
        assert!(opforge_cpu::rows::rows("softmax", Softmax::Plain, 1, [&x], outputs).is_err());
    }
    assert!(layer_norm("layer_norm", &x, Some(&weight(2)), None, 1e-5, &x, false).is_err());
    assert!(layer_norm("layer_norm", &x, None, Some(&weight(4)), 1e-5, &x, false).is_err());
    assert!(layer_norm("layer_norm", &Meta::contiguous(DType::F32, ()), None, None, 1e-5, &x, false).is_err());
}

/// The gradient by central differences of `sum(y * dy)`, where y is `forward(x)`.
fn numeric_gradient(x: &[f64], dy: &[f64], forward: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let loss = |x: &[f64]| exact_sum(forward(x).iter().zip(dy).map(|(y, dy)| y * dy));
    let slope = |i: usize| {
        let mut moved = x.to_vec();
        moved[i] += 1e-5;
        let above = loss(&moved);
        moved[i] -= 2e-5;
        (above - loss(&moved)) / 2e-5
    };
    (0..x.len()).map(slope).collect()
}

fn assert_gradient(got: &[f64], expected: &[f64], dtype: DType) {
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        let tolerance = 1e-6f64.max(32.0 * epsilon(dtype)) * e.abs().max(1.0);
        assert!((g - e).abs() <= tolerance, "{dtype} element {i}: {g}, not {e}");
    }
}

#[test]
fn softmax_gradients_agree_with_differences() {
    for_every_isa(|| {
        for (dims, axis) in [(&[37usize][..], 0), (&[3, 20], 1), (&[20, 3], 0), (&[2, 5, 4], 1)] {
            let (x, dy) = (Array::contiguous(DType::F64, dims, noise), |i| noise(i + 5));
            for kind in [Softmax::Plain, Softmax::Log] {
                let forward = |x: &[f64]| naive_softmax(x, dims, axis, kind);
                let expected =
                    numeric_gradient(&x.values(), &(0..x.values().len()).map(dy).collect::<Vec<_>>(), forward);
                let y = forward(&x.values());
                for (layout, dtype) in layouts(dims)[..4].iter().flat_map(|l| [(l, DType::F32), (l, DType::F64)]) {
                    let y = Array::contiguous(dtype, dims, |i| y[i]);
                    let dy = Array::new(dtype, layout.clone(), dy);
                    let out = Meta::contiguous(dtype, dims);
                    let kernel =
                        opforge_cpu::rows::rows("softmax", SoftmaxSlope(kind), axis, [&y.meta, &dy.meta], &[&out])
                            .expect("valid");
                    assert_gradient(&run(&*kernel, &[&y, &dy], &[out])[0].values(), &expected, dtype);
                }
            }
        }
    });
}

#[test]
fn norm_gradients_agree_with_differences() {
    for_every_isa(|| {
        for (dims, dtype) in [&[19usize][..], &[3, 40]].into_iter().flat_map(|d| [(d, DType::F32), (d, DType::F64)]) {
            let len = dims[dims.len() - 1];
            let x = Array::contiguous(dtype, dims, noise);
            let dy = Array::contiguous(dtype, dims, |i| noise(i + 5));
            let weight = Array::contiguous(dtype, &[len], |i| noise(i + 7) + 0.5);
            let zeros = vec![0.0; len];
            let out = Meta::contiguous(dtype, dims);
            for centered in [true, false] {
                let forward = |x: &[f64]| naive_norm(x, len, centered, &weight.values(), &zeros);
                let expected = numeric_gradient(&x.values(), &dy.values(), |x| forward(x)[0].clone());
                let [_, mean, rstd] =
                    forward(&x.values()).map(|v| Array::contiguous(dtype, &dims[..dims.len() - 1], |i| v[i]));
                let sums = parameter_sums(&x.meta);
                let outs = [&out, &sums, &sums];
                let got = if centered {
                    let stats = [&mean.meta, &rstd.meta];
                    let kernel =
                        layer_norm_backward("layer_norm", &x.meta, &dy.meta, &stats, Some(&weight.meta), &outs);
                    run(&*kernel.expect("valid"), &[&x, &dy, &mean, &rstd, &weight], &outs.map(Meta::clone))
                } else {
                    let (stats, weight_meta) = ([&rstd.meta], Some(&weight.meta));
                    let kernel = rms_norm_backward("rms_norm", &x.meta, &dy.meta, &stats, weight_meta, &outs[..2]);
                    run(&*kernel.expect("valid"), &[&x, &dy, &rstd, &weight], &outs.map(Meta::clone)[..2])
                };
                assert_gradient(&got[0].values(), &expected, dtype);
                let normal = naive_norm(&x.values(), len, centered, &vec![1.0; len], &zeros).into_iter().next();
                let terms: Vec<f64> =
                    normal.unwrap_or_default().iter().zip(dy.values()).map(|(h, dy)| h * dy).collect();
                let column = |all: &[f64], i: usize| all.iter().skip(i).step_by(len).sum::<f64>();
                for (got, terms) in got[1..].iter().zip([terms, dy.values()]) {
                    let expected: Vec<f64> = (0..len).map(|i| column(&terms, i)).collect();
                    let summed: Vec<f64> = (0..len).map(|i| column(&got.values(), i)).collect();
                    assert_gradient(&summed, &expected, dtype);
                }
            }
        }
    });
}

/// Squares of these overflow, the normalised numbers do not.
#[test]
fn norms_of_large_numbers() {
    for dtype in [DType::BF16, DType::F32, DType::F64] {
        let large = if dtype == DType::F64 { 1e300 } else { 1e20 };
        for (scale, rms) in [(large, 1.0), (if dtype == DType::F64 { 1.7e308 } else { 3e38 }, 1.0)] {
            for_every_isa(|| {
                let x = Array::contiguous(dtype, &[1, 40], |i| if i.is_multiple_of(2) { -scale } else { scale });
                let expected = |i: usize| if i.is_multiple_of(2) { -rms } else { rms };
                let near = |got: &Array, what: &str| {
                    for (i, got) in got.values().into_iter().enumerate() {
                        assert!((got - expected(i)).abs() < 4.0 * epsilon(dtype), "{what} {dtype} {scale}: {got}");
                    }
                };
                let kernel = layer_norm("norm", &x.meta, None, None, 1e-5, &x.meta, false).expect("a valid norm");
                near(&run(&*kernel, &[&x], std::slice::from_ref(&x.meta))[0], "layer_norm");
                let kernel = rms_norm("norm", &x.meta, None, 1e-5, &x.meta, false).expect("a valid norm");
                near(&run(&*kernel, &[&x], std::slice::from_ref(&x.meta))[0], "rms_norm");
                let planes =
                    Array::contiguous(dtype, &[1, 1, 40], |i| if i.is_multiple_of(2) { -scale } else { scale });
                for (over, sets) in [(Over::Batch, vec![1]), (Over::Groups(1), vec![1, 1])] {
                    let stat = Meta::contiguous(stats_dtype(dtype), sets);
                    let kernel = batch_norm("norm", over, &planes.meta, [None; 2], 1e-5, [&planes.meta, &stat, &stat]);
                    let kernel = kernel.expect("a valid norm");
                    near(&run(&*kernel, &[&planes], &[planes.meta.clone(), stat.clone(), stat])[0], "batch_norm");
                }
            });
        }
    }
}
