//! What is found along an axis.

use opforge::declaration::Array;
use opforge_tile::forms::{Extreme, Rank, Running, Scan, Search, Sort};

/// The elements along an axis at an index, whose own place there does not matter.
fn line(x: &Array, axis: usize, index: &[usize]) -> Vec<f64> {
    let at = |i: usize| x.at(&[&index[..axis], &[i], &index[axis + 1..]].concat());
    (0..x.shape[axis]).map(at).collect()
}

/// Whether `a` is at least as extreme as `b`; NaN is more extreme than any number.
fn reaches(extreme: Extreme, a: f64, b: f64) -> bool {
    match extreme {
        _ if b.is_nan() => a.is_nan(),
        Extreme::Max => a.is_nan() || a >= b,
        Extreme::Min => a.is_nan() || a <= b,
    }
}

pub fn search(form: &Search, x: &Array, shape: &[usize]) -> Array {
    let keeps = shape.len() == x.shape.len();
    Array::from_fn(shape, |index| {
        let mut index = index.to_vec();
        if !keeps {
            index.insert(form.axis, 0);
        }
        let line = line(x, form.axis, &index);
        let beats_all = |i: &usize| line.iter().all(|&other| reaches(form.extreme, line[*i], other));
        (0..line.len()).find(beats_all).expect("an element") as f64
    })
}

pub fn scan(form: &Scan, x: &Array) -> Array {
    Array::from_fn(&x.shape, |index| {
        let line = line(x, form.axis, index);
        let before = &line[..=index[form.axis]];
        match form.running {
            Running::Sum => before.iter().sum(),
            Running::Product => before.iter().product(),
            Running::LogSumExp => before.iter().map(|x| x.exp()).sum::<f64>().ln(),
            Running::Place(extreme) => {
                let beats_all = |i: &usize| before.iter().all(|&other| reaches(extreme, before[*i], other));
                (0..before.len()).rev().find(beats_all).expect("an element") as f64
            }
        }
    })
}

pub fn sort(form: &Sort, x: &[Array], shape: &[usize]) -> Array {
    match *form {
        Sort::Order { axis, descending } => Array::from_fn(shape, |index| {
            let line = line(&x[0], axis, index);
            let mut order: Vec<usize> = (0..line.len()).collect();
            order.sort_by(|&a, &b| if descending { line[b].total_cmp(&line[a]) } else { line[a].total_cmp(&line[b]) });
            order[index[axis]] as f64
        }),
        Sort::Place { axis, rank } => Array::from_fn(shape, |index| {
            let line = line(&x[0], axis, index);
            let mut order: Vec<usize> = (0..line.len()).collect();
            order.sort_by(|&a, &b| line[a].total_cmp(&line[b]));
            let first = match rank {
                Rank::At(first) => first,
                Rank::MiddleNumber => line.iter().filter(|x| !x.is_nan()).count().saturating_sub(1) / 2,
            };
            order[first + index[axis]] as f64
        }),
        Sort::Search { right } => Array::from_fn(shape, |index| {
            let last = x[0].shape.len() - 1;
            let lead = if last == 0 { vec![0] } else { index.to_vec() };
            let value = x[1].at(index);
            let before = |&&element: &&f64| if right { element <= value } else { element < value };
            line(&x[0], last, &lead).iter().filter(before).count() as f64
        }),
    }
}
