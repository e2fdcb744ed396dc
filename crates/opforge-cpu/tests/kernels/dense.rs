//! Factors multiply back to what was factored, in every layout.

use std::sync::Arc;

use opforge_core::{DType, Layout, Meta, Result};
use opforge_cpu::dense::*;
use opforge_cpu::simd::{Isa, with_isa};
use opforge_runtime::HostKernel;

use crate::testing::{Array, epsilon, layouts, noise, run};

/// A row-major matrix of a batch.
struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, columns: usize, data: &[f64]) -> Self {
        Matrix { rows, columns, data: data.to_vec() }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.data[i * self.columns + j]
    }

    fn t(&self) -> Matrix {
        let data = (0..self.data.len()).map(|x| self.at(x % self.rows, x / self.rows)).collect();
        Matrix { rows: self.columns, columns: self.rows, data }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows);
        let at = |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum();
        let data = (0..self.rows * other.columns).map(|x| at(x / other.columns, x % other.columns)).collect();
        Matrix { rows: self.rows, columns: other.columns, data }
    }

    fn near(&self, other: &Matrix, tolerance: f64) {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        for (x, y) in self.data.iter().zip(&other.data) {
            assert!((x - y).abs() <= tolerance, "{:?} and {:?}", self.data, other.data);
        }
    }

    fn identity(n: usize) -> Matrix {
        Matrix { rows: n, columns: n, data: (0..n * n).map(|x| f64::from(u8::from(x % (n + 1) == 0))).collect() }
    }
}

/// Calls `check` with each matrix of a batch of two and the outputs for it, in both dtypes and every layout.
fn each(
    what: Dense,
    shape: [usize; 2],
    outputs: &[(&[usize], bool)],
    element: impl Fn(usize, usize) -> f64,
    check: impl Fn(&Matrix, &[&[f64]], f64),
) -> Result<()> {
    let [m, n] = shape;
    for dtype in [DType::F32, DType::F64] {
        for layout in layouts(&[2, m, n]) {
            let a = Array::new(dtype, layout, |x| element(x / n % m, x % n) + (x / (m * n)) as f64 * noise(x) / 16.0);
            let meta = |(shape, whole): &(&[usize], bool)| {
                Meta::contiguous(if *whole { DType::I64 } else { dtype }, [&[2], *shape].concat())
            };
            let metas: Vec<Meta> = outputs.iter().map(meta).collect();
            let kernel = dense("test", what, &[&a.meta], &metas.iter().collect::<Vec<_>>())?;
            let results = run(&*kernel, &[&a], &metas);
            let (values, results) = (a.values(), results.iter().map(Array::values).collect::<Vec<_>>());
            for b in 0..2 {
                let parts: Vec<&[f64]> = results.iter().map(|r| &r[b * r.len() / 2..(b + 1) * r.len() / 2]).collect();
                check(&Matrix::new(m, n, &values[b * m * n..(b + 1) * m * n]), &parts, 200.0 * epsilon(dtype));
            }
        }
    }
    Ok(())
}

fn plain(i: usize, j: usize) -> f64 {
    noise(7 * i + j + 3)
}

/// Symmetric and positive definite.
fn definite(i: usize, j: usize) -> f64 {
    if i == j { 200.0 } else { noise(i.max(j) * 5 + i.min(j)) }
}

#[test]
fn q_and_r_multiply_back() -> Result<()> {
    for (m, n) in [(4, 4), (5, 3), (3, 5), (70, 33), (33, 70), (130, 100), (64, 64)] {
        for k in [m.min(n), m] {
            each(Dense::Qr, [m, n], &[(&[m, k], false), (&[k, n], false)], plain, |a, parts, tolerance| {
                let (q, r) = (Matrix::new(m, k, parts[0]), Matrix::new(k, n, parts[1]));
                q.times(&r).near(a, tolerance);
                q.t().times(&q).near(&Matrix::identity(k), tolerance);
                assert!((0..k * n).all(|x| x / n <= x % n || r.data[x] == 0.0));
            })?;
        }
    }
    Ok(())
}

/// Each reflection is applied to the identity, the last one first: that gives `Q`.
#[test]
fn reflections_multiply_back() -> Result<()> {
    for (m, n) in [(4, 4), (5, 3), (3, 5), (1, 1), (70, 33), (33, 70)] {
        let size = m.min(n);
        each(Dense::Reflections, [m, n], &[(&[m, n], false), (&[size], false)], plain, |a, parts, tolerance| {
            let r = Matrix {
                rows: m,
                columns: n,
                data: (0..m * n).map(|x| if x / n <= x % n { parts[0][x] } else { 0.0 }).collect(),
            };
            let mut product = r;
            for j in (0..size).rev() {
                let v = |i: usize| if i == j { 1.0 } else { parts[0][i * n + j] };
                for k in 0..n {
                    let dot: f64 = (j..m).map(|i| v(i) * product.data[i * n + k]).sum();
                    (j..m).for_each(|i| product.data[i * n + k] -= parts[1][j] * v(i) * dot);
                }
            }
            product.near(a, tolerance);
        })?;
    }
    Ok(())
}

#[test]
fn singular_vectors_and_values_multiply_back() -> Result<()> {
    for (m, n) in [(4, 4), (5, 3), (3, 5), (70, 33)] {
        let k = m.min(n);
        for (uk, vk) in [(k, k), (m, n)] {
            let outputs: [(&[usize], bool); 3] = [(&[m, uk], false), (&[k], false), (&[vk, n], false)];
            each(Dense::Svd, [m, n], &outputs, plain, |a, parts, tolerance| {
                let (u, v) = (Matrix::new(m, uk, parts[0]), Matrix::new(vk, n, parts[2]));
                let mut s = Matrix { rows: uk, columns: vk, data: vec![0.0; uk * vk] };
                (0..k).for_each(|i| s.data[i * vk + i] = parts[1][i]);
                u.times(&s).times(&v).near(a, tolerance);
                u.t().times(&u).near(&Matrix::identity(uk), tolerance);
                v.times(&v.t()).near(&Matrix::identity(vk), tolerance);
                assert!(parts[1].windows(2).all(|pair| pair[0] >= pair[1]));
            })?;
        }
    }
    Ok(())
}

#[test]
fn eigenvectors_and_values_multiply_back() -> Result<()> {
    for n in [1, 3, 40] {
        each(
            Dense::Eigh { upper: false },
            [n, n],
            &[(&[n], false), (&[n, n], false)],
            definite,
            |a, parts, tolerance| {
                let vectors = Matrix::new(n, n, parts[1]);
                let mut scaled = Matrix::new(n, n, parts[1]);
                scaled.data.iter_mut().enumerate().for_each(|(x, v)| *v *= parts[0][x % n]);
                let lower = |x: usize| a.at((x / n).max(x % n), (x / n).min(x % n));
                let symmetric = Matrix { rows: n, columns: n, data: (0..n * n).map(lower).collect() };
                scaled.times(&vectors.t()).near(&symmetric, 40.0 * tolerance);
                assert!(parts[0].windows(2).all(|pair| pair[0] <= pair[1]));
            },
        )?;
    }
    Ok(())
}

#[test]
fn lower_and_upper_factors_multiply_back() -> Result<()> {
    for (m, n) in [(4, 4), (5, 3), (3, 5), (70, 33), (33, 70), (1, 40), (300, 5), (17, 17), (130, 129)] {
        let k = m.min(n);
        each(Dense::Lu, [m, n], &[(&[m, n], false), (&[k], true)], plain, |a, parts, tolerance| {
            let both = Matrix::new(m, n, parts[0]);
            let part = |rows: usize, columns: usize, lower: bool| {
                let one = |(i, j): (usize, usize)| match (i == j, i > j) {
                    (true, _) if lower => 1.0,
                    (_, below) if below == lower => both.at(i, j),
                    _ => 0.0,
                };
                let data = (0..rows * columns).map(|x| one((x / columns, x % columns))).collect();
                Matrix { rows, columns, data }
            };
            let mut exchanged = Matrix::new(m, n, &a.data);
            for (step, &pivot) in parts[1].iter().enumerate() {
                (0..n).for_each(|j| exchanged.data.swap(step * n + j, (pivot as usize - 1) * n + j));
            }
            part(m, k, true).times(&part(k, n, false)).near(&exchanged, tolerance);
        })?;
    }
    Ok(())
}

#[test]
fn solutions_multiply_back() -> Result<()> {
    let sizes = [(3, 2), (16, 1), (17, 1), (17, 5), (40, 3), (100, 37), (300, 40), (600, 2)];
    for ((n, columns), dtype, what, isa) in sizes.iter().flat_map(|&size| {
        let triangles = [(false, false), (false, true), (true, false), (true, true)];
        let whats = triangles.map(|(upper, unit)| Dense::Triangular { upper, unit }).into_iter().chain([Dense::Solve]);
        whats.flat_map(move |what| {
            let isas = move |dtype| Isa::supported().map(move |isa| (size, dtype, what, isa));
            [DType::F32, DType::F64].into_iter().flat_map(isas)
        })
    }) {
        let element = |x: usize| match x / n % n == x % n {
            true if matches!(what, Dense::Solve) => noise(x),
            true => 4.0,
            false => noise(x) / 64.0,
        };
        let b = Array::new(dtype, layouts(&[2, n, columns])[n % 4].clone(), |x| noise(x + 1));
        for layout in layouts(&[2, n, n]).into_iter().take(if n > 100 { 1 } else { 4 }) {
            let a = Array::new(dtype, layout, element);
            let to = [Meta::contiguous(dtype, [2, n, columns])];
            let kernel = with_isa(isa, || dense("test", what, &[&a.meta, &b.meta], &[&to[0]]))?;
            let x = with_isa(isa, || run(&*kernel, &[&a, &b], &to))[0].values();
            let (a, b) = (a.values(), b.values());
            let counts = |i: usize, j: usize| match what {
                Dense::Triangular { upper, .. } => i == j || (i < j) == upper,
                _ => true,
            };
            let is_unit = matches!(what, Dense::Triangular { unit: true, .. });
            for (at, &right) in b.iter().enumerate() {
                let (batch, i, column) = (at / (n * columns), at / columns % n, at % columns);
                let term = |j: usize| {
                    let factor = if is_unit && i == j { 1.0 } else { a[(batch * n + i) * n + j] };
                    factor * x[(batch * n + j) * columns + column]
                };
                let terms = || (0..n).filter(|&j| counts(i, j)).map(term);
                let scale = terms().fold(1.0, |sum, term| sum + term.abs());
                let error = (terms().sum::<f64>() - right).abs();
                assert!(
                    error < 1e4 * epsilon(dtype) * scale,
                    "{what:?} {n} x {columns} {dtype:?} {isa:?}: {error} of {scale}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn the_lower_factor_multiplies_back() -> Result<()> {
    for n in [1, 3, 40, 65, 150] {
        each(Dense::Cholesky, [n, n], &[(&[n, n], false)], definite, |a, parts, tolerance| {
            let factor = Matrix::new(n, n, parts[0]);
            let product = factor.times(&factor.t());
            (0..n * n)
                .filter(|x| x % n <= x / n)
                .for_each(|x| assert!((product.data[x] - a.data[x]).abs() < 40.0 * tolerance));
        })?;
    }
    Ok(())
}

#[test]
fn columns_without_a_pivot_stay_as_they_are() -> Result<()> {
    // Columns of zeros, and one that is the double of another: of 40 columns, panels and halves meet them.
    let n = 40;
    let a = Array::new(DType::F64, Layout::contiguous((n, n)), |x| match x % n {
        3 | 20 | 21 => 0.0,
        30 => 2.0 * noise(x - 1),
        _ => noise(x),
    });
    let outputs = [Meta::contiguous(DType::F64, (n, n)), Meta::contiguous(DType::I64, n)];
    let kernel = dense("test", Dense::Lu, &[&a.meta], &[&outputs[0], &outputs[1]])?;
    let found = run(&*kernel, &[&a], &outputs);
    let (both, pivots) = (Matrix::new(n, n, &found[0].values()), found[1].values());
    let mut exchanged = Matrix::new(n, n, &a.values());
    for (step, &pivot) in pivots.iter().enumerate() {
        (0..n).for_each(|j| exchanged.data.swap(step * n + j, (pivot as usize - 1) * n + j));
    }
    let part = |keep: fn(usize, usize) -> bool| {
        let at = |x: usize| if keep(x / n, x % n) { both.data[x] } else { 0.0 };
        Matrix { rows: n, columns: n, data: (0..n * n).map(at).collect() }
    };
    let mut lower = part(|i, j| i > j);
    (0..n).for_each(|i| lower.data[i * n + i] = 1.0);
    lower.times(&part(|i, j| i <= j)).near(&exchanged, 1e-12);
    Ok(())
}

#[test]
fn determinants_of_singular_matrices_are_zero() -> Result<()> {
    let a = Array::new(DType::F64, Layout::contiguous((3, 3)), |x| [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0][x]);
    let outputs = [Meta::contiguous(DType::F64, 2), Meta::contiguous(DType::F64, ())];
    let kernel = dense("test", Dense::LogDet, &[&a.meta], &[&outputs[0], &outputs[1]])?;
    let found = run(&*kernel, &[&a], &outputs);
    assert_eq!((found[0].values(), found[1].values()), (vec![0.0, f64::NEG_INFINITY], vec![0.0]));
    Ok(())
}

#[test]
fn matrices_side_by_side_are_as_alone() -> Result<()> {
    for (n, batch) in (1..=9).flat_map(|n| [1, 3, 4, 17, 40].map(|batch| (n, batch))) {
        let element = |x: usize| noise(x) + if (x % (n * n)).is_multiple_of(n + 1) { 0.55 } else { 0.03 };
        let a = Array::new(DType::F64, Layout::contiguous((batch, n, n)), element);
        let definite = |x: usize| {
            let (b, i, j) = (x / (n * n), x / n % n, x % n);
            let product: f64 = (0..n).map(|k| element((b * n + i) * n + k) * element((b * n + j) * n + k)).sum();
            if i < j { 7.0 } else { product + if i == j { 0.1 } else { 0.0 } }
        };
        let d = Array::new(DType::F64, Layout::contiguous((batch, n, n)), definite);
        let b = Array::new(DType::F64, Layout::contiguous((batch, n, 3)), |x| noise(x + 5));
        let same = |what, inputs: &[&Array], outputs: &[Meta]| -> Result<()> {
            let metas: Vec<&Meta> = inputs.iter().map(|input| &input.meta).collect();
            let to: Vec<&Meta> = outputs.iter().collect();
            let values = |kernel: Arc<dyn HostKernel>| -> Vec<f64> {
                run(&*kernel, inputs, outputs).iter().flat_map(Array::values).collect()
            };
            let found = values(dense("test", what, &metas, &to)?);
            let alone = values(one_by_one("test", what, &metas, &to)?);
            for (x, y) in found.iter().zip(&alone) {
                assert!(x == y || (x - y).abs() <= 1e-8 * (1.0 + y.abs()), "{what:?} of {batch} x {n}: {x} and {y}");
            }
            Ok(())
        };
        let of = |dims: &[usize]| Meta::contiguous(DType::F64, dims);
        same(Dense::LogDet, &[&a], &[of(&[batch, 2]), of(&[batch])])?;
        same(Dense::Solve, &[&a, &b], &[of(&[batch, n, 3])])?;
        same(Dense::Cholesky, &[&d], &[of(&[batch, n, n])])?;
    }
    Ok(())
}

#[test]
fn the_first_matrix_without_a_result_is_named() -> Result<()> {
    for isa in Isa::supported() {
        let a = Array::new(DType::F32, Layout::contiguous((40, 2, 2)), |x| {
            if x / 4 == 23 || x / 4 == 31 { 1.0 } else { [2.0, 1.0, 0.0, 3.0][x % 4] }
        });
        let kernel = with_isa(isa, || dense("test", Dense::Solve, &[&a.meta, &a.meta], &[&a.meta]))?;
        let mut room = vec![0u8; 640];
        // SAFETY: 40 matrices of four f32 each.
        let outcome = unsafe { kernel.run(&[a.ptr(), a.ptr()], &[room.as_mut_ptr()]) };
        assert!(outcome.is_err_and(|e| e.to_string().contains("matrix 23")));
    }
    Ok(())
}

#[test]
fn pseudo_inverses_obey_penrose() -> Result<()> {
    let limit = Array::new(DType::F64, Layout::contiguous(()), |_| 1e-12);
    for (m, n) in [(4, 4), (5, 3), (3, 5)] {
        // Of rank 2.
        let a = Array::new(DType::F64, Layout::contiguous((m, n)), |x| ((x / n) * 3 + x % n) as f64);
        let out = Meta::contiguous(DType::F64, (n, m));
        let what = Dense::PseudoInverse { hermitian: false };
        let kernel = dense("test", what, &[&a.meta, &limit.meta, &limit.meta], &[&out])?;
        let p = Matrix::new(n, m, &run(&*kernel, &[&a, &limit, &limit], std::slice::from_ref(&out))[0].values());
        let a = Matrix::new(m, n, &a.values());
        a.times(&p).times(&a).near(&a, 1e-10);
        p.times(&a).times(&p).near(&p, 1e-10);
        a.times(&p).near(&a.times(&p).t(), 1e-10);
    }
    Ok(())
}

#[test]
fn exponentials_of_opposites_are_inverses() -> Result<()> {
    for scale in [0.01, 1.0, 8.0] {
        let of = |sign: f64| -> Result<Matrix> {
            let a = Array::new(DType::F64, Layout::contiguous((3, 3)), |x| sign * scale * noise(x) / 4.0);
            let kernel = dense("test", Dense::Exp, &[&a.meta], &[&a.meta])?;
            Ok(Matrix::new(3, 3, &run(&*kernel, &[&a], std::slice::from_ref(&a.meta))[0].values()))
        };
        let size = of(1.0)?.data.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        of(1.0)?.times(&of(-1.0)?).near(&Matrix::identity(3), 1e-12 * size * size);
    }
    Ok(())
}

#[test]
fn what_is_not_finite_is_refused_or_nan() -> Result<()> {
    let a = Array::new(DType::F64, Layout::contiguous((3, 3)), |x| if x == 4 { f64::NAN } else { x as f64 });
    let [matrix, vector] = [Meta::contiguous(DType::F64, (3, 3)), Meta::contiguous(DType::F64, 3)];
    let refuses = |what, outputs: &[&Meta]| -> Result<()> {
        let kernel = dense("test", what, &[&a.meta], outputs)?;
        let mut room = [[0f64; 9]; 3];
        let pointers: Vec<*mut u8> = room.iter_mut().map(|r| r.as_mut_ptr().cast()).collect();
        let values = a.values();
        // SAFETY: the rooms are as large as the largest output.
        let outcome = unsafe { kernel.run(&[values.as_ptr().cast()], &pointers[..outputs.len()]) };
        assert!(outcome.is_err_and(|e| e.to_string().contains("matrix 0")));
        Ok(())
    };
    refuses(Dense::Svd, &[&matrix, &vector, &matrix])?;
    refuses(Dense::Eigh { upper: true }, &[&vector, &matrix])?;
    refuses(Dense::Cholesky, &[&matrix])?;
    let kernel = dense("test", Dense::QrR, &[&a.meta], &[&matrix])?;
    assert!(run(&*kernel, &[&a], std::slice::from_ref(&matrix))[0].values()[8].is_nan());
    Ok(())
}
