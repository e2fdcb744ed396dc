//! Views of what a graph computes, changed in place and read again.

use crate::common::{floats, vec};
use opforge::{DType, Device, Result, Tensor};
use opforge_graph::{Options, trace};

/// A view of a matrix: all of it, or a part.
pub fn view(x: &Tensor, kind: usize) -> Result<Tensor> {
    let half = |dim: usize| x.dims()[dim].div_ceil(2);
    match kind % VIEWS {
        0 => Ok(x.clone()),
        1 => x.t(),
        2 => x.narrow(1, 0, half(1)),
        3 => x.narrow(0, 0, half(0)),
        4 => x.slice(1, 0, x.dims()[1], 2),
        5 => x.slice(0, 0, x.dims()[0], 2)?.t(),
        6 => Ok(x.chunk(2, 1)?.pop().unwrap_or_else(|| x.clone())),
        7 => x.narrow(0, x.dims()[0].min(1), x.dims()[0].saturating_sub(1)),
        8 => x.narrow(0, 0, 0),
        _ => x.narrow(0, 0, x.dims()[0].min(1))?.narrow(1, 0, x.dims()[1].min(1)),
    }
}

const VIEWS: usize = 10;

/// Changes a tensor in place.
pub fn change(x: &Tensor, kind: u8) -> Result<()> {
    let number = |number: f32| Tensor::new(&[number], &Device::Cpu);
    match kind % CHANGES {
        0 => x.mul_(&number(1.5)?),
        1 => x.add_(&number(-0.25)?),
        2 => x.copy_from(&x.relu()?),
        _ => x.zero_set(),
    }
}

const CHANGES: u8 = 4;

/// Expects the elements that eager code gives, also where others read the changed tensor too.
fn expect_eager(x: &Tensor, what: &str, f: impl Fn(&Tensor) -> Result<Vec<Tensor>>) {
    let eager = f(x).unwrap();
    for fusion in [true, false] {
        let program = trace(&[x], |x| f(&x[0])).unwrap();
        let results = program.compile_with(Options { fusion, ..Options::ALL }).unwrap().run(&[x]).unwrap();
        for (result, expected) in results.iter().zip(&eager) {
            assert_eq!(result.dims(), expected.dims(), "{what}");
            assert_eq!(vec(result), vec(expected), "{what}, fusion {fusion}");
        }
    }
}

#[test]
fn a_part_of_a_product_is_doubled_and_read() {
    let eye = Tensor::eye(4, DType::F32, &Device::Cpu).unwrap();
    let x = Tensor::from_vec((0..16).map(|i| i as f32).collect::<Vec<f32>>(), (4, 4), &Device::Cpu).unwrap();
    let program = trace(&[&x], |x| {
        let part = x[0].matmul(&eye)?.narrow(1, 0, 2)?;
        part.mul_(&Tensor::new(&[2f32], &Device::Cpu)?)?;
        Ok(vec![part.affine(1.0, 1.0)?])
    });
    let program = program.unwrap().compile().unwrap();
    let result = program.run(&[&x]).unwrap().remove(0);
    assert_eq!(result.to_vec2::<f32>().unwrap(), [[1.0, 3.0], [9.0, 11.0], [17.0, 19.0], [25.0, 27.0]]);
    assert_eq!(program.stages().len(), 2, "the change and the sum are one kernel");
}

/// Each view changed, once and twice, then each view read: of matrices that are one block, several, and a single row.
#[test]
fn each_view_after_each_change() {
    for (rows, columns) in [(4, 4), (1, 4), (7, 5), (300, 301)] {
        let (x, w) = (floats(&[rows, 6], 1), floats(&[6, columns], 2));
        let kinds = (0..VIEWS).flat_map(|changed| (0..VIEWS).map(move |read| (changed, read)));
        for (changed, read) in kinds.filter(|_| rows * columns < 1000).chain((0..VIEWS).map(|kind| (kind, kind))) {
            for kind in 0..CHANGES {
                let what = format!("{rows} {columns}: change {kind} of view {changed}, view {read} is read");
                let f = |x: &Tensor, times: u8| {
                    let v = x.matmul(&w)?;
                    (0..times).try_for_each(|further| change(&view(&v, changed)?, kind + further))?;
                    Ok((view(&v, read)?.affine(2.0, 1.0)?, v))
                };
                expect_eager(&x, &what, |x| Ok(vec![f(x, 1)?.0]));
                expect_eager(&x, &what, |x| Ok(vec![f(x, 2)?.0]));
                expect_eager(&x, &what, |x| f(x, 2).map(|(y, v)| vec![y, v]));
            }
        }
    }
}

/// What comes between is computed in the same kernel, and lies in memory that is used again.
#[test]
fn changes_among_other_calls() {
    let (x, w, other) = (floats(&[40, 30], 1), floats(&[30, 40], 2), floats(&[40, 40], 3));
    for (changed, kind) in (0..VIEWS).flat_map(|view| (0..CHANGES).map(move |kind| (view, kind))) {
        expect_eager(&x, &format!("change {kind} of view {changed}"), |x| {
            let v = x.matmul(&w)?;
            let (part, more) = (view(&v, changed)?, view(&other, changed)?.exp()?);
            let before = part.add(&more)?;
            part.mul_(&before)?;
            let after = part.sub(&more)?;
            change(&part, kind)?;
            Ok(vec![after.add(&part)?.mul(&before)?])
        });
    }
}
