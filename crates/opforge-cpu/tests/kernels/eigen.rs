//! Eigenvalues and eigenvectors of symmetric matrices: `A V = V L` and `V^T V = 1`, as near as `n` roundings of the largest element allow, whatever the
//! values are, of a matrix alone and of those side by side.

use opforge_core::{DType, Layout, Meta, Result};
use opforge_cpu::dense::*;
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, epsilon, layouts, noise, run};

/// Roundings of the largest element, for each row, that results may be away.
const ROUNDINGS: f64 = 8.0;

type Element<'a> = &'a dyn Fn(usize, usize) -> f64;

/// What tests are made of: the name, and element `(i, j)`, `j <= i`.
type Kind = (&'static str, Box<dyn Fn(usize, usize) -> f64>);

/// Matrices of `n` rows.
fn kinds(n: usize) -> Vec<Kind> {
    let last = n.saturating_sub(1);
    let power = move |base: f64, i: usize| base.powf(i as f64 / last.max(1) as f64);
    // A reflection of a diagonal matrix.
    let reflected = move |values: fn(usize) -> f64| {
        let v: Vec<f64> = (0..n).map(|i| noise(i + 11) + 0.1).collect();
        let factor = 2.0 / v.iter().map(|v| v * v).sum::<f64>();
        let turn = move |i: usize, k: usize| f64::from(u8::from(i == k)) - factor * v[i] * v[k];
        move |i: usize, j: usize| (0..n).map(|k| turn(i, k) * values(k) * turn(j, k)).sum()
    };
    vec![
        ("noise", Box::new(|i, j| noise(i * 97 + j))),
        ("zeros", Box::new(|_, _| 0.0)),
        ("ones", Box::new(|_, _| 1.0)),
        ("identity", Box::new(|i, j| f64::from(u8::from(i == j)))),
        ("diagonal", Box::new(|i, j| if i == j { noise(i) } else { 0.0 })),
        ("second difference", Box::new(|i, j| [2.0, -1.0, 0.0][(i - j).min(2)])),
        ("antidiagonal", Box::new(move |i, j| f64::from(u8::from(i + j == last)))),
        ("Wilkinson", Box::new(move |i, j| [(i as f64 - last as f64 / 2.0).abs(), 1.0, 0.0][(i - j).min(2)])),
        (
            "glued",
            Box::new(|i, j| match i - j {
                0 => (i % 21) as f64 - 10.0,
                1 if i % 21 == 0 => 1e-8,
                1 => 1.0,
                _ => 0.0,
            }),
        ),
        ("two values", Box::new(reflected(|k| if k % 3 == 0 { 1.0 } else { 2.0 }))),
        ("a cluster", Box::new(reflected(|k| if k == 0 { -3.0 } else { 1.0 + 1e-9 * k as f64 }))),
        ("rank one", Box::new(|i, j| noise(i) * noise(j))),
        ("graded down", Box::new(move |i, j| power(1e-30, i.max(j)) * (1.0 + noise(i * 31 + j) / 2.0))),
        ("graded up", Box::new(move |i, j| power(1e-30, last - i.min(j)) * (1.0 + noise(i * 31 + j) / 2.0))),
        ("graded diagonal", Box::new(move |i, j| if i == j { 1e-15 * power(1e30, i) } else { 0.0 })),
        ("huge", Box::new(|i, j| 1e30 * noise(i * 13 + j))),
        ("tiny", Box::new(|i, j| 1e-30 * noise(i * 13 + j))),
    ]
}

/// Values and vectors, and that values alone are the same, of a batch whose matrices are `element` of the batch's index.
fn eigen(a: &Array, upper: bool) -> Result<[Vec<f64>; 2]> {
    let (dtype, shape) = (a.meta.dtype, a.meta.dims().to_vec());
    let outputs = [Meta::contiguous(dtype, &shape[..shape.len() - 1]), Meta::contiguous(dtype, &shape[..])];
    let kernel = dense("test", Dense::Eigh { upper }, &[&a.meta], &[&outputs[0], &outputs[1]])?;
    let alone = dense("test", Dense::EigenvaluesSymmetric { upper }, &[&a.meta], &[&outputs[0]])?;
    let [values, vectors] = <[Array; 2]>::try_from(run(&*kernel, &[a], &outputs)).ok().expect("two outputs");
    let (values, alone) = (values.values(), run(&*alone, &[a], &outputs[..1])[0].values());
    let n = shape[shape.len() - 1];
    for (values, alone) in values.chunks_exact(n.max(1)).zip(alone.chunks_exact(n.max(1))) {
        let most = values.iter().fold(0f64, |most, x| most.max(x.abs()));
        for (x, y) in values.iter().zip(alone) {
            let away = (x - y).abs() / (most + f64::MIN_POSITIVE);
            assert!(away <= ROUNDINGS * n as f64 * epsilon(dtype), "{x} and {y} of {n}");
        }
    }
    Ok([values, vectors.values()])
}

fn check(name: &str, n: usize, dtype: DType, element: Element<'_>, values: &[f64], vectors: &[f64]) {
    let a: Vec<f64> = (0..n * n).map(|x| element((x / n).max(x % n), (x / n).min(x % n))).collect();
    let most = a.iter().fold(0f64, |most, x| most.max(x.abs()));
    let bound = ROUNDINGS * n as f64 * epsilon(dtype);
    assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{name} of {n}: {values:?}");
    let column = |j: usize| -> Vec<f64> { (0..n).map(|i| vectors[i * n + j]).collect() };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    for (j, v) in columns.iter().enumerate() {
        for i in 0..n {
            let away = (dot(&a[i * n..(i + 1) * n], v) - values[j] * v[i]).abs() / (most + f64::MIN_POSITIVE);
            assert!(away <= bound, "{name} {dtype:?} of {n}: row {i} of vector {j} is {away} away, {bound} allowed");
            let away = (dot(&columns[i], v) - f64::from(u8::from(i == j))).abs();
            assert!(away <= bound, "{name} {dtype:?} of {n}: vectors {i} and {j} are {away} from orthonormal");
        }
    }
}

/// Elements as the dtype holds them.
fn rounded(dtype: DType, x: f64) -> f64 {
    if dtype == DType::F32 { f64::from(x as f32) } else { x }
}

#[test]
fn vectors_of_any_values_are_orthonormal_and_multiply_back() -> Result<()> {
    let sizes = (1..=9).chain([16, 23, 24, 25, 31, 33, 47, 50, 64, 65, 97, 130]);
    for (n, dtype) in sizes.flat_map(|n| [(n, DType::F32), (n, DType::F64)]) {
        for (name, element) in kinds(n) {
            let element = |i, j| rounded(dtype, element(i, j));
            for batch in [1, 3] {
                let of = |x: usize| element((x / n % n).max(x % n), (x / n % n).min(x % n));
                let a = Array::contiguous(dtype, &[batch, n, n], of);
                let [values, vectors] = eigen(&a, false)?;
                for b in 0..batch {
                    let (values, vectors) = (&values[b * n..(b + 1) * n], &vectors[b * n * n..(b + 1) * n * n]);
                    check(name, n, dtype, &element, values, vectors);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn large_matrices_come_in_halves() -> Result<()> {
    for (n, dtype) in [(300, DType::F64), (301, DType::F32)] {
        for (name, element) in kinds(n).into_iter().filter(|(name, _)| ["noise", "glued", "two values"].contains(name))
        {
            let element = |i, j| rounded(dtype, element(i, j));
            let a = Array::contiguous(dtype, &[n, n], |x| element((x / n).max(x % n), (x / n).min(x % n)));
            let [values, vectors] = eigen(&a, true)?;
            check(name, n, dtype, &element, &values, &vectors);
        }
    }
    Ok(())
}

#[test]
fn either_triangle_tells_a_matrix_in_every_layout_and_instruction_set() -> Result<()> {
    for isa in Isa::supported() {
        for (n, dtype, upper) in [5, 12, 40].into_iter().flat_map(|n| {
            [(DType::F32, true), (DType::F64, true), (DType::F64, false)].map(|(dtype, upper)| (n, dtype, upper))
        }) {
            for (batch, layout) in
                [1, 11].into_iter().flat_map(|b| layouts(&[b, n, n]).into_iter().take(4).map(move |l| (b, l)))
            {
                let element = |b: usize, i: usize, j: usize| rounded(dtype, noise(b * 1000 + i * 97 + j));
                // The other triangle tells another matrix.
                let of = |x: usize| match (x / n % n, x % n) {
                    (i, j) if i == j || (i < j) == upper => element(x / (n * n), i.max(j), i.min(j)),
                    _ => f64::NAN,
                };
                let a = Array::new(dtype, layout, of);
                let [values, vectors] = with_isa(isa, || eigen(&a, upper))?;
                for b in 0..batch {
                    let (values, vectors) = (&values[b * n..(b + 1) * n], &vectors[b * n * n..(b + 1) * n * n]);
                    check("noise", n, dtype, &|i, j| element(b, i, j), values, vectors);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn neighbours_change_nothing() -> Result<()> {
    let n = 13;
    let batch = |first: usize, count: usize| {
        Array::contiguous(DType::F32, &[count, n, n], |x| {
            noise(first * n * n + x) * [1.0, 1e-20, 0.0, 1e20][(first + x / (n * n)) % 4]
        })
    };
    let [values, vectors] = eigen(&batch(0, 23), false)?;
    for first in 0..21 {
        let [some, their] = eigen(&batch(first, 2), false)?;
        assert_eq!(some, values[first * n..(first + 2) * n]);
        assert_eq!(their, vectors[first * n * n..(first + 2) * n * n]);
    }
    Ok(())
}

#[test]
fn the_first_matrix_that_is_not_finite_is_named() -> Result<()> {
    for (n, bad) in [(6, f64::NAN), (6, f64::INFINITY), (70, f64::NAN)] {
        let at = |b: usize, i: usize, j: usize| (b * n + i) * n + j;
        let a = Array::new(DType::F64, Layout::contiguous((9, n, n)), |x| {
            // In the triangle that counts for nothing, it does not matter.
            if x == at(2, 1, 4) || x == at(5, 4, 1) || x == at(7, 3, 3) { bad } else { noise(x) }
        });
        let outputs = [Meta::contiguous(DType::F64, (9, n)), Meta::contiguous(DType::F64, (9, n, n))];
        let kernel = dense("test", Dense::Eigh { upper: false }, &[&a.meta], &[&outputs[0], &outputs[1]])?;
        let mut rooms = [vec![0f64; 9 * n], vec![0f64; 9 * n * n]];
        let pointers: Vec<*mut u8> = rooms.iter_mut().map(|room| room.as_mut_ptr().cast()).collect();
        // SAFETY: the rooms are as large as the outputs.
        let outcome = unsafe { kernel.run(&[a.ptr()], &pointers) };
        assert!(outcome.is_err_and(|e| e.to_string().contains("matrix 5")));
    }
    Ok(())
}
