//! Factors of small matrices side by side: whatever the ranks and sizes are, vectors are orthonormal and factors multiply back.

use opforge_core::{DType, Meta, Result};
use opforge_cpu::dense::*;
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, epsilon, layouts, noise, run};

/// The last are too large to be side by side: one after the other in the same memory.
const SHAPES: [[usize; 2]; 13] =
    [[1, 1], [2, 2], [5, 3], [3, 5], [8, 8], [16, 9], [9, 17], [1, 7], [7, 1], [24, 24], [32, 31], [40, 3], [3, 40]];
/// Roundings, for each row and column, that results may be away.
const ROUNDINGS: f64 = 6.0;

/// Element `(i, j)` of matrix `b`, whose kind depends on `b`.
fn element(b: usize, i: usize, j: usize) -> f64 {
    let own = noise(b * 1009 + i * 97 + j);
    match b % 9 {
        0 => own,
        1 => 0.0,
        2 => 1.0,
        // Columns that are there twice, and columns of zeros.
        3 => noise(i * 97 + j / 2),
        4 => {
            if j % 3 == 1 {
                0.0
            } else {
                own
            }
        }
        5 => f64::from(u8::from(i == j)),
        6 => own * 1e-18f64.powf(j as f64 / 31.0),
        7 => own * 1e30,
        _ => own * 1e-30,
    }
}

fn batch(dtype: DType, layout: opforge_core::Layout, [m, n]: [usize; 2]) -> Array {
    Array::new(dtype, layout, |x| element(x / (m * n), x / n % m, x % n))
}

/// Columns of a row-major matrix.
fn columns(x: &[f64], n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|j| x.iter().skip(j).step_by(n).copied().collect()).collect()
}

fn assert_orthonormal(columns: &[Vec<f64>], bound: f64, what: &str) {
    for (i, x) in columns.iter().enumerate() {
        for (j, y) in columns[..=i].iter().enumerate() {
            let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() <= bound, "{what}: columns {i} and {j} give {dot}");
        }
    }
}

#[test]
fn singular_vectors_are_orthonormal_and_multiply_back() -> Result<()> {
    for (shape, dtype, full) in SHAPES.into_iter().flat_map(|shape| {
        [(DType::F32, false), (DType::F32, true), (DType::F64, false), (DType::F64, true)].map(|(d, f)| (shape, d, f))
    }) {
        let ([m, n], bound) = (shape, ROUNDINGS * (shape[0] + shape[1]) as f64 * epsilon(dtype));
        let k = m.min(n);
        let [left, right] = if full { [m, n] } else { [k, k] };
        let of = |dims: &[usize]| Meta::contiguous(dtype, dims);
        let outputs = [of(&[19, m, left]), of(&[19, k]), of(&[19, right, n])];
        for (isa, layout) in
            Isa::supported().flat_map(|isa| layouts(&[19, m, n]).into_iter().take(4).map(move |l| (isa, l)))
        {
            let a = batch(dtype, layout, shape);
            let [u, s, v] = with_isa(isa, || -> Result<_> {
                let kernel = dense("test", Dense::Svd, &[&a.meta], &[&outputs[0], &outputs[1], &outputs[2]])?;
                Ok(<[Array; 3]>::try_from(run(&*kernel, &[&a], &outputs))
                    .ok()
                    .expect("three outputs")
                    .map(|x| x.values()))
            })?;
            let alone = with_isa(isa, || dense("test", Dense::SingularValues, &[&a.meta], &[&outputs[1]]))?;
            let alone = run(&*alone, &[&a], &outputs[1..2])[0].values();
            for (b, a) in a.values().chunks_exact(m * n).enumerate() {
                let what = format!("matrix {b} of {m} x {n}, {dtype:?} {isa:?}");
                let u = columns(&u[b * m * left..(b + 1) * m * left], left);
                let v: Vec<Vec<f64>> = v[b * right * n..(b + 1) * right * n].chunks(n).map(<[f64]>::to_vec).collect();
                let (s, alone) = (&s[b * k..(b + 1) * k], &alone[b * k..(b + 1) * k]);
                assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s[k - 1] >= 0.0, "{what}: {s:?}");
                assert_orthonormal(&u, bound, &what);
                assert_orthonormal(&v, bound, &what);
                let most = s[0] + f64::MIN_POSITIVE;
                for x in 0..m * n {
                    let sum: f64 = (0..k).map(|l| u[l][x / n] * s[l] * v[l][x % n]).sum();
                    assert!((sum - a[x]).abs() <= bound * most, "{what}: {sum} for {}", a[x]);
                }
                assert!(s.iter().zip(alone).all(|(x, y)| (x - y).abs() <= bound * most), "{what}: {s:?} and {alone:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn orthogonal_and_triangular_factors_multiply_back_column_by_column() -> Result<()> {
    for (shape, dtype, whole) in SHAPES[..11].iter().copied().flat_map(|shape| {
        [(DType::F32, false), (DType::F32, true), (DType::F64, false), (DType::F64, true)].map(|(d, w)| (shape, d, w))
    }) {
        let ([m, n], bound) = (shape, ROUNDINGS * (shape[0] + shape[1]) as f64 * epsilon(dtype));
        let k = if whole { m } else { m.min(n) };
        let of = |dims: &[usize]| Meta::contiguous(dtype, dims);
        let outputs = [of(&[19, m, k]), of(&[19, k, n])];
        for (isa, layout) in
            Isa::supported().flat_map(|isa| layouts(&[19, m, n]).into_iter().take(4).map(move |l| (isa, l)))
        {
            let a = batch(dtype, layout, shape);
            let [q, r] = with_isa(isa, || -> Result<_> {
                let kernel = dense("test", Dense::Qr, &[&a.meta], &[&outputs[0], &outputs[1]])?;
                Ok(<[Array; 2]>::try_from(run(&*kernel, &[&a], &outputs))
                    .ok()
                    .expect("two outputs")
                    .map(|x| x.values()))
            })?;
            let alone = with_isa(isa, || dense("test", Dense::QrR, &[&a.meta], &[&outputs[1]]))?;
            assert_eq!(run(&*alone, &[&a], &outputs[1..])[0].values(), r);
            for (b, a) in a.values().chunks_exact(m * n).enumerate() {
                let what = format!("matrix {b} of {m} x {n}, {dtype:?} {isa:?}");
                let (q, r) = (columns(&q[b * m * k..(b + 1) * m * k], k), columns(&r[b * k * n..(b + 1) * k * n], n));
                assert_orthonormal(&q, bound, &what);
                for (j, (a, r)) in columns(a, n).iter().zip(&r).enumerate() {
                    assert!(r.iter().skip(j + 1).all(|&x| x == 0.0), "{what}: column {j} is {r:?}");
                    let most = a.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
                    for i in 0..m {
                        let sum: f64 = (0..k).map(|l| q[l][i] * r[l]).sum();
                        assert!((sum - a[i]).abs() <= bound * most, "{what}: {sum} for {} in column {j}", a[i]);
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_not_finite_is_no_neighbours_fault() -> Result<()> {
    let a = Array::contiguous(DType::F32, &[12, 4, 4], |x| if x == 5 * 16 + 6 { f64::NAN } else { noise(x) });
    let matrices = Meta::contiguous(DType::F32, [12, 4, 4]);
    let kernel = dense("test", Dense::Qr, &[&a.meta], &[&matrices, &matrices])?;
    for factor in run(&*kernel, &[&a], &[matrices.clone(), matrices.clone()]) {
        for (b, factor) in factor.values().chunks_exact(16).enumerate() {
            assert_eq!(factor.iter().any(|x| x.is_nan()), b == 5);
        }
    }
    let values = Meta::contiguous(DType::F32, [12, 4]);
    let kernel = dense("test", Dense::SingularValues, &[&a.meta], &[&values])?;
    let mut room = [0f32; 48];
    // SAFETY: 12 vectors of four numbers.
    let outcome = unsafe { kernel.run(&[a.ptr()], &[room.as_mut_ptr().cast()]) };
    assert!(outcome.is_err_and(|e| e.to_string().contains("matrix 5")));
    Ok(())
}
