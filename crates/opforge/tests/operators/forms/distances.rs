//! Distances between rows.

use opforge::declaration::{Array, each_index};
use opforge_tile::forms::Distances;

fn norm(order: f64, differences: &[f64]) -> f64 {
    match order {
        0.0 => differences.iter().filter(|e| **e != 0.0).count() as f64,
        f64::INFINITY => differences.iter().fold(0.0, |greatest, e| e.abs().max(greatest)),
        p => differences.iter().map(|e| e.abs().powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

/// The derivative of a norm by a difference.
fn slope(order: f64, e: f64, norm: f64) -> f64 {
    match order {
        _ if order == 0.0 || norm == 0.0 => 0.0,
        f64::INFINITY => {
            if e.abs() == norm {
                e.signum()
            } else {
                0.0
            }
        }
        _ if e == 0.0 => 0.0,
        p => e.signum() * (e.abs() / norm).powf(p - 1.0),
    }
}

/// The index of a pair's distance.
fn place(form: &Distances, n: usize, lead: &[usize], i: usize, j: usize) -> Vec<usize> {
    match form.pairs {
        true => vec![(0..i).map(|row| n - row - 1).sum::<usize>() + j - i - 1],
        false => [lead, &[i, j]].concat(),
    }
}

pub fn distances(form: &Distances, x: &[Array], shape: &[usize]) -> Array {
    let order = form.order.to_f64();
    let first = usize::from(form.gradient);
    let (a, b) = (&x[first], &x[first + usize::from(!form.pairs)]);
    let (rank, distances) = (a.shape.len(), x.last().expect("distances"));
    let ([n, width], m) = ([a.shape[rank - 2], a.shape[rank - 1]], b.shape[b.shape.len() - 2]);
    let lead = if form.pairs { &[] } else { &shape[..shape.len() - 2] };
    let mut out = Array::from_fn(shape, |_| 0.0);
    each_index(&[lead, &[n, m]].concat(), |index| {
        let (lead, i, j) = (&index[..lead.len()], index[lead.len()], index[lead.len() + 1]);
        if form.pairs && i >= j {
            return;
        }
        let at = |x: &Array, row: usize, k: usize| x.at_broadcast(&[lead, &[row, k]].concat());
        let e: Vec<f64> = (0..width).map(|k| at(a, i, k) - at(b, j, k)).collect();
        let (place, flat) =
            (place(form, n, lead, i, j), |at: &[usize]| at.iter().zip(shape).fold(0, |f, (i, n)| f * n + i));
        if !form.gradient {
            out.data[flat(&place)] = norm(order, &e);
            return;
        }
        for (k, &e) in e.iter().enumerate() {
            let share = x[0].at(&place) * slope(order, e, distances.at(&place));
            out.data[flat(&[lead, &[i, k]].concat())] += share;
            if form.pairs {
                out.data[flat(&[j, k])] -= share;
            }
        }
    });
    out
}
