//! Distances beside sums over differences, one by one.

use opforge_core::{DType, Meta, Scalar};
use opforge_cpu::distance::distances;
use opforge_cpu::simd::{Isa, with_isa};
use opforge_tile::forms::Distances;

use crate::testing::{Array, epsilon, layouts, noise, run};

const ORDERS: [f64; 6] = [0.0, 0.7, 1.0, 2.0, 3.0, f64::INFINITY];

fn norm(order: f64, differences: &[f64]) -> f64 {
    match order {
        0.0 => differences.iter().filter(|e| **e != 0.0).count() as f64,
        f64::INFINITY => differences.iter().fold(0.0, |greatest, e| e.abs().max(greatest)),
        p => differences.iter().map(|e| e.abs().powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

fn slope(order: f64, e: f64, norm: f64) -> f64 {
    match order {
        _ if order == 0.0 || norm == 0.0 || e == 0.0 => 0.0,
        f64::INFINITY if e.abs() < norm => 0.0,
        f64::INFINITY => e.signum(),
        p => e.signum() * (e.abs() / norm).powf(p - 1.0),
    }
}

/// Distances of rows in `[batch, n, width]` and `[batch, m, width]`, in order.
fn between(order: f64, x: &[f64], y: &[f64], [batch, n, m, width]: [usize; 4]) -> Vec<f64> {
    let row = |x: &[f64], i: usize| x[i * width..(i + 1) * width].to_vec();
    let e = |i: usize, j: usize| row(x, i).iter().zip(row(y, i / n * m + j)).map(|(a, b)| a - b).collect::<Vec<_>>();
    (0..batch * n).flat_map(|i| (0..m).map(move |j| (i, j))).map(|(i, j)| norm(order, &e(i, j))).collect()
}

/// The gradient of the first rows.
fn gradient(order: f64, [g, x, y, d]: [&[f64]; 4], [n, m, width]: [usize; 3]) -> Vec<f64> {
    let of = |at: usize| {
        let (i, k) = (at / width, at % width);
        let share = |j: usize| {
            let e = x[at] - y[(i / n * m + j) * width + k];
            g[i * m + j] * slope(order, e, d[i * m + j])
        };
        (0..m).map(share).sum()
    };
    (0..x.len()).map(of).collect()
}

/// The elements above the diagonal of a matrix.
fn above(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n).flat_map(|i| (i + 1..n).map(move |j| i * n + j)).map(|at| matrix[at]).collect()
}

/// What is above the diagonal, and what lies in its mirror.
fn mirrored(pairs: &[f64], n: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    let places = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    for ((i, j), &value) in places.zip(pairs) {
        (matrix[i * n + j], matrix[j * n + i]) = (value, value);
    }
    matrix
}

fn near(found: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        let same = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(same, "{what}: {a}, not {b}, at {i}");
    }
}

fn found(order: f64, pairs: bool, gradient: bool, inputs: &[&Array], output: &Meta) -> Vec<f64> {
    let metas: Vec<&Meta> = inputs.iter().map(|input| &input.meta).collect();
    let form = Distances { order: Scalar::Float(order), pairs, gradient };
    let kernel = distances("test", form, &metas, output).expect("shapes that go together");
    run(&*kernel, inputs, std::slice::from_ref(output))[0].values()
}

/// A matrix of a batch in one of its layouts.
fn array(dtype: DType, dims: &[usize], layout: usize) -> Array {
    let layouts = layouts(dims);
    Array::new(dtype, layouts[layout % layouts.len()].clone(), |i| noise(i + 7 * layout))
}

fn check(dtype: DType, order: f64, [batch, n, m, width]: [usize; 4], layout: usize) {
    let what = format!("{dtype} of order {order}: {batch} x ({n}, {m}) x {width}, layout {layout}");
    let tolerance = epsilon(dtype) * 64.0 * (1.0 + width as f64).sqrt();
    let (x, y) = (array(dtype, &[batch, n, width], layout), array(dtype, &[batch, m, width], layout + 1));
    let out = array(dtype, &[batch, n, m], layout + 2);
    let out = if out.meta.layout.may_overlap_itself() { array(dtype, &[batch, n, m], 0) } else { out };
    let wanted = between(order, &x.values(), &y.values(), [batch, n, m, width]);
    near(&found(order, false, false, &[&x, &y], &out.meta), &wanted, tolerance, &what);

    let d = Array::new(dtype, out.meta.layout.clone(), |i| wanted[i]);
    let g = array(dtype, &[batch, n, m], layout + 3);
    let values = [&g, &x, &y, &d].map(Array::values);
    let wanted = gradient(order, values.each_ref().map(Vec::as_slice), [n, m, width]);
    let dx = Meta::contiguous(dtype, &[batch, n, width][..]);
    let tolerance = tolerance * (8.0 + m as f64);
    near(&found(order, false, true, &[&g, &x, &y, &d], &dx), &wanted, tolerance, &format!("gradient of {what}"));
}

fn check_pairs(dtype: DType, order: f64, n: usize, width: usize, layout: usize) {
    let what = format!("{dtype} of order {order}: pairs of {n} x {width}, layout {layout}");
    let tolerance = epsilon(dtype) * 64.0 * (1.0 + width as f64).sqrt();
    let x = array(dtype, &[n, width], layout);
    let (values, count) = (x.values(), n * n.saturating_sub(1) / 2);
    let wanted = above(&between(order, &values, &values, [1, n, n, width]), n);
    let out = Meta::contiguous(dtype, count);
    near(&found(order, true, false, &[&x], &out), &wanted, tolerance, &what);

    let (g, d) = (array(dtype, &[count], layout), Array::contiguous(dtype, &[count], |i| wanted[i]));
    let [of_g, of_d] = [&g, &d].map(|pairs| mirrored(&pairs.values(), n));
    let wanted = gradient(order, [&of_g, &values, &values, &of_d], [n, n, width]);
    let dx = Meta::contiguous(dtype, &[n, width][..]);
    let tolerance = tolerance * (8.0 + n as f64);
    near(&found(order, true, true, &[&g, &x, &d], &dx), &wanted, tolerance, &format!("gradient of {what}"));
}

#[test]
fn distances_and_gradients_of_every_order() {
    let shapes =
        [[1, 5, 3, 4], [2, 6, 70, 3], [2, 33, 34, 40], [1, 131, 66, 9], [1, 40, 2, 131], [2, 3, 4, 0], [2, 3, 0, 2]];
    for isa in Isa::supported() {
        for (s, shape) in shapes.into_iter().enumerate() {
            for (layout, order) in ORDERS.into_iter().enumerate() {
                for dtype in [DType::F32, DType::F64] {
                    with_isa(isa, || check(dtype, order, shape, layout + s));
                }
            }
        }
        for (n, width) in [(0, 2), (1, 3), (2, 1), (5, 4), (34, 17), (70, 3), (140, 2), (4, 0)] {
            for (layout, order) in ORDERS.into_iter().enumerate() {
                for dtype in [DType::F32, DType::F64] {
                    with_isa(isa, || check_pairs(dtype, order, n, width, layout));
                }
            }
        }
    }
}

/// Rows of both matrices that every batch shares have a stride of 0.
#[test]
fn leading_dimensions_are_broadcast() {
    let (x, y) = (array(DType::F64, &[3, 1, 5, 2], 0), array(DType::F64, &[4, 6, 2], 1));
    let out = Meta::contiguous(DType::F64, &[3, 4, 5, 6][..]);
    let d = found(3.0, false, false, &[&x, &y], &out);
    for (batch, found) in d.chunks(30).enumerate() {
        let (x, y) = (&x.values()[batch / 4 * 10..][..10], &y.values()[batch % 4 * 12..][..12]);
        near(found, &between(3.0, x, y, [1, 5, 6, 2]), 1e-14, "a batch");
    }
}

#[test]
fn what_is_not_finite_spreads_as_it_should() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows = [[0.0, 1.0], [inf, 2.0], [nan, 3.0], [0.0, 1.0]].concat();
    let x = Array::contiguous(DType::F32, &[4, 2], |i| rows[i]);
    let of = |order: f64| {
        let d = found(order, true, false, &[&x], &Meta::contiguous(DType::F32, 6));
        let (g, d) = (Array::contiguous(DType::F32, &[6], |_| 1.0), Array::contiguous(DType::F32, &[6], |i| d[i]));
        let dx = found(order, true, true, &[&g, &x, &d], &Meta::contiguous(DType::F32, &[4, 2][..]));
        (d.values(), dx)
    };
    for order in [1.0, 2.0, 3.0, inf] {
        near(&of(order).0, &[inf, nan, 0.0, nan, inf, nan], 0.0, &format!("order {order}"));
    }
    // NaN of the counted differences too.
    near(&of(0.0).0, &[2.0, nan, 0.0, nan, 2.0, nan], 0.0, "counts");
    near(&of(1.0).1, &[nan, -2.0, nan, 1.0, nan, 3.0, nan, -2.0], 0.0, "gradient of order 1");
    near(&of(2.0).1, &[nan; 8], 0.0, "gradient of order 2");

    // A row that is far from all others differs from itself by NaN, which is nobody's distance.
    let x = Array::contiguous(DType::F32, &[3, 1], |i| [inf, 0.0, 1.0][i]);
    let (g, d) =
        (Array::contiguous(DType::F32, &[3], |_| 1.0), Array::contiguous(DType::F32, &[3], |i| [inf, inf, 1.0][i]));
    for order in [1.0, inf] {
        let dx = found(order, true, true, &[&g, &x, &d], &Meta::contiguous(DType::F32, &[3, 1][..]));
        near(&dx, &[2.0, -2.0, 0.0], 0.0, "a far row");
    }
}

#[test]
fn wrong_shapes_are_errors() {
    let form = |pairs, gradient| Distances { order: Scalar::Float(1.0), pairs, gradient };
    let fails = |form: Distances, inputs: &[&[usize]], output: &[usize]| {
        let metas: Vec<Meta> = inputs.iter().map(|dims| Meta::contiguous(DType::F32, *dims)).collect();
        distances("test", form, &metas.iter().collect::<Vec<_>>(), &Meta::contiguous(DType::F32, output)).is_err()
    };
    assert!(!fails(form(false, false), &[&[3, 2], &[4, 2]], &[3, 4]));
    assert!(fails(form(false, false), &[&[3, 2], &[4, 3]], &[3, 4]));
    assert!(fails(form(false, false), &[&[3, 2], &[4, 2]], &[4, 3]));
    assert!(fails(form(false, false), &[&[3, 2]], &[3, 3]));
    assert!(fails(form(false, true), &[&[3, 4], &[3, 2], &[4, 2], &[3, 4]], &[4, 2]));
    assert!(!fails(form(true, false), &[&[4, 2]], &[6]));
    assert!(fails(form(true, false), &[&[4, 2]], &[5]));
    assert!(fails(form(true, true), &[&[6], &[4, 2], &[5]], &[4, 2]));
}
