//! Matrices' products and elements moved.

use opforge::declaration::Array;
use opforge_tile::forms::{Beyond, Contract, Move};

pub fn contract(form: &Contract, x: &[Array], shape: &[usize]) -> Array {
    let depth = *x[0].shape.last().expect("a matrix");
    Array::from_fn(shape, |index| {
        let (lead, j) = (&index[..index.len() - 1], index[index.len() - 1]);
        let product = |k: usize| {
            let a = [lead, &[k]].concat();
            let b = match form {
                Contract::Product => x[1].at_broadcast(&[&lead[..lead.len() - 1], &[k, j]].concat()),
                Contract::Linear { .. } => x[1].at(&[j, k]),
            };
            x[0].at_broadcast(&a) * b
        };
        let sum: f64 = (0..depth).map(product).sum();
        if let Contract::Linear { bias: true } = form { sum + x[2].at(&[j]) } else { sum }
    })
}

pub fn moved(form: &Move, x: &[Array], shape: &[usize]) -> Array {
    match form {
        Move::Copy => x[0].clone(),
        &Move::Concatenate { axis } => Array::from_fn(shape, |index| {
            let mut index = index.to_vec();
            for part in x {
                if index[axis] < part.shape[axis] {
                    return part.at(&index);
                }
                index[axis] -= part.shape[axis];
            }
            panic!("{shape:?} is longer than its parts")
        }),
        Move::Flip { axes } => Array::from_fn(shape, |index| {
            let of = |(d, &i): (usize, &usize)| if axes.contains(&d) { shape[d] - 1 - i } else { i };
            x[0].at(&index.iter().enumerate().map(of).collect::<Vec<_>>())
        }),
        Move::Extend { before, beyond } => Array::from_fn(shape, |index| {
            let from = |(d, &at): (usize, &usize)| {
                let (i, n) = (at as i64 - before[d] as i64, x[0].shape[d] as i64);
                let outside = match beyond {
                    Beyond::Reflected => i.abs().min(2 * (n - 1) - i),
                    Beyond::Repeated => i.clamp(0, n - 1),
                    Beyond::Wrapped => i.rem_euclid(n),
                };
                (if (0..n).contains(&i) { i } else { outside }) as usize
            };
            x[0].at(&index.iter().enumerate().map(from).collect::<Vec<_>>())
        }),
        &Move::Triangle { lower, diagonal } => Array::from_fn(shape, |index| {
            let above = index[index.len() - 1] as i64 - index[index.len() - 2] as i64;
            let stays = if lower { above <= diagonal } else { above >= diagonal };
            if stays { x[0].at(index) } else { 0.0 }
        }),
        Move::Overlay { place } => {
            let mut y = if x.len() == 2 { x[0].clone() } else { Array::from_fn(shape, |_| 0.0) };
            for (at, element) in place.indices().zip(&x[x.len() - 1].data) {
                y.data[at] = *element;
            }
            y
        }
    }
}
