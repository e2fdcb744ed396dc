//! Elements at places that integers name.

use opforge::declaration::{Array, each_index};
use opforge_tile::forms::{Combine, Index};

/// What an index names, and how what is written there meets what is there.
fn parts(form: Index) -> (Places, usize, Option<Combine>) {
    match form {
        Index::Gather { axis, .. } => (Places::Elements, axis, None),
        Index::Scatter { axis, how, .. } => (Places::Elements, axis, Some(how)),
        Index::Select { axis, .. } => (Places::Slices, axis, None),
        Index::AddSlices { axis, .. } => (Places::Slices, axis, Some(Combine::Add)),
        Index::Get { axis } => (Places::Tuples, axis, None),
        Index::NonZero | Index::Exchange => unreachable!("they have no indices"),
        Index::Put { axis, adds } => (Places::Tuples, axis, Some(if adds { Combine::Add } else { Combine::Set })),
    }
}

#[derive(PartialEq)]
enum Places {
    Elements,
    Slices,
    Tuples,
}

pub fn index(form: Index, x: &[Array], shape: &[usize]) -> Array {
    match form {
        Index::NonZero => return nonzero(&x[0], shape),
        Index::Exchange => return exchanged(&x[0], shape),
        _ => {}
    }
    let (places, axis, how) = parts(form);
    let ids = &x[1..x.len() - usize::from(how.is_some())];
    // Where in the first input the element at an index of what is read, or written, is.
    let place = |index: &[usize]| -> Vec<usize> {
        let id = |ids: &Array, at: &[usize], len: usize| {
            let id = ids.at(at) as i64;
            (if id < 0 { id + len as i64 } else { id }) as usize
        };
        let (before, rest) = index.split_at(axis);
        let middle = match places {
            Places::Elements => vec![id(&ids[0], index, x[0].shape[axis])],
            Places::Slices => vec![id(&ids[0], &rest[..ids[0].shape.len()], x[0].shape[axis])],
            Places::Tuples => {
                let of = |(k, ids)| id(ids, &rest[..1], x[0].shape[axis + k]);
                ids.iter().enumerate().map(of).collect()
            }
        };
        let named = if places == Places::Slices { ids[0].shape.len() } else { 1 };
        [before, &middle, &rest[named..]].concat()
    };
    let Some(how) = how else { return Array::from_fn(shape, |index| x[0].at(&place(index))) };
    let (mut y, src) = (x[0].clone(), &x[x.len() - 1]);
    let visited = if places == Places::Elements { &ids[0].shape } else { &src.shape };
    each_index(visited, |index| {
        let flat = place(index).iter().zip(shape).fold(0, |flat, (&i, &len)| flat * len + i);
        let (old, new) = (y.data[flat], src.at(index));
        y.data[flat] = match how {
            Combine::Set => new,
            Combine::Add => old + new,
            Combine::Multiply => old * new,
            Combine::Least => old.min(new),
            Combine::Greatest => old.max(new),
        };
    });
    y
}

fn nonzero(x: &Array, shape: &[usize]) -> Array {
    let mut places = Vec::new();
    each_index(&x.shape, |index| {
        if x.at(index) != 0.0 {
            places.extend(index.iter().map(|&i| i as f64));
        }
    });
    Array::new(shape, places)
}

fn exchanged(x: &Array, shape: &[usize]) -> Array {
    let (&rows, lead) = shape.split_last().expect("rows");
    let mut orders = Vec::new();
    each_index(lead, |lead| {
        let mut order: Vec<f64> = (0..rows).map(|i| i as f64).collect();
        for step in 0..x.shape[lead.len()] {
            order.swap(step, x.at(&[lead, &[step]].concat()) as usize - 1);
        }
        orders.extend(order);
    });
    Array::new(shape, orders)
}
