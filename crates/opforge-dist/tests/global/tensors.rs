//! Global tensors: views, writes, gradients, conversions, and what goes wrong.

use std::sync::Arc;

use opforge::{DType, Device, Error, IndexOp, Result, Tensor, no_grad};
use opforge_dist::global::{World, distribute, distribution_of, from_part, part_of, redistribute};
use opforge_dist::{Distribution, Engine, Guard, Settings, Threads};

/// Runs a program on each rank of a new world.
fn on<T: Send>(ranks: usize, program: impl Fn(usize) -> Result<T> + Sync) -> Vec<Result<T>> {
    Threads::run(ranks, |engine| {
        let guard = Arc::new(Guard::new(engine, Settings::default()));
        let rank = guard.rank();
        let result = World::new(guard.clone()).run(|| program(rank));
        if let Err(error) = &result {
            guard.abort(error);
        }
        result
    })
}

/// What all ranks of a world give, which is the same.
fn same<T: Send + PartialEq + std::fmt::Debug>(ranks: usize, program: impl Fn(usize) -> Result<T> + Sync) -> T {
    let mut all: Vec<T> = on(ranks, program).into_iter().map(|result| result.unwrap()).collect();
    let first = all.remove(0);
    assert!(all.iter().all(|other| *other == first), "{first:?}, {all:?}");
    first
}

fn spread(tensor: &Tensor, text: &str) -> Result<Tensor> {
    distribute(tensor, &text.parse::<Distribution>()?)
}

fn counted(dims: &[usize]) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    Tensor::arange(0f64, count as f64, &Device::Cpu)?.reshape(dims)
}

fn read(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.detach().flatten_all()?.to_vec1()
}

#[test]
fn a_global_tensor_has_the_shape_of_the_whole_and_parts_on_ranks() {
    let parts = on(3, |_| {
        let x = spread(&counted(&[5, 2])?, "cpu[0, 1, 2] [S(0)]")?;
        assert_eq!((x.dims(), x.device().to_string().as_str()), (&[5, 2][..], "cpu[0, 1, 2]"));
        assert_eq!(distribution_of(&x)?.unwrap().to_string(), "cpu[0, 1, 2] [S(0)]");
        let part = part_of(&x)?;
        assert!(part.device().is_cpu() && part_of(&part).is_err());
        Ok((part.dims().to_vec(), read(&part)?))
    });
    let parts: Vec<_> = parts.into_iter().map(Result::unwrap).collect();
    let wanted =
        [(vec![2, 2], vec![0.0, 1.0, 2.0, 3.0]), (vec![2, 2], vec![4.0, 5.0, 6.0, 7.0]), (vec![1, 2], vec![8.0, 9.0])];
    assert_eq!(parts, wanted);
}

#[test]
fn parts_of_any_length_make_a_whole() {
    let whole = same(3, |rank| {
        let own = Tensor::full(rank as f64, (3 * rank, 2), &Device::Cpu)?;
        let x = from_part(&own, &"cpu[0, 1, 2] [S(0)]".parse()?)?;
        Ok((x.dims().to_vec(), read(&x)?))
    });
    let wanted: Vec<f64> = [vec![1.0; 6], vec![2.0; 12]].concat();
    assert_eq!(whole, (vec![9, 2], wanted));
    for error in on(2, |rank| from_part(&counted(&[2, 2 + rank])?, &"cpu[0, 1] [S(0)]".parse()?).map(drop)) {
        assert!(error.unwrap_err().to_string().contains("to_global"));
    }
}

#[test]
fn gradients_reach_the_parts() {
    let gradients = on(2, |rank| {
        let part = Tensor::full(rank as f64 + 1.0, 1 + rank, &Device::Cpu)?;
        part.set_requires_grad(true)?;
        let x = from_part(&part, &"cpu[0, 1] [S(0)]".parse()?)?;
        let store = x.sqr()?.sum_all()?.to_device(&Device::Cpu)?.backward()?;
        read(store.get(&part).expect("a gradient"))
    });
    let gradients: Vec<_> = gradients.into_iter().map(Result::unwrap).collect();
    assert_eq!(gradients, [vec![2.0], vec![4.0, 4.0]]);
}

/// Views of a split dimension have to move elements, others show the memory of the whole. What is written into either is written into the whole.
#[test]
fn writes_into_views_reach_the_whole() {
    let program = |x: &Tensor| -> Result<Vec<f64>> {
        let rows = x.narrow(0, 1, 3)?;
        let column = x.t()?.i(1)?;
        let corner = rows.narrow(1, 0, 2)?;
        corner.copy_from(&corner.affine(-1.0, 0.0)?)?;
        let seen = [read(&rows)?, read(&column)?].concat();
        column.copy_from(&column.ones_like()?)?;
        let diagonal = x.narrow(0, 0, 3)?.as_strided(3, &[4], 0)?;
        diagonal.copy_from(&diagonal.affine(0.0, 100.0)?)?;
        let flat = x.reshape(20)?.narrow(0, 17, 2)?;
        flat.copy_from(&flat.affine(0.0, -7.0)?)?;
        Ok([seen, read(&rows)?, read(x)?, read(&corner)?].concat())
    };
    let wanted = program(&counted(&[5, 4]).unwrap()).unwrap();
    for sbp in ["S(0)", "S(1)", "B"] {
        let got = same(3, |_| program(&spread(&counted(&[5, 4])?, &format!("cpu[0, 1, 2] [{sbp}]"))?));
        assert_eq!(got, wanted, "{sbp}");
    }
}

/// What ranks have of a view that is a copy has strides of its own.
#[test]
fn views_of_copies_are_those_of_the_whole() {
    let program = |x: &Tensor| read(&x.transpose(0, 1)?.narrow(1, 0, 1)?.reshape(8)?.narrow(0, 3, 4)?);
    let wanted = program(&counted(&[2, 4, 2]).unwrap()).unwrap();
    for sbp in ["S(0)", "S(1)", "S(2)", "B", "P(sum)"] {
        let got = same(2, |_| program(&spread(&counted(&[2, 4, 2])?, &format!("cpu[0, 1] [{sbp}]"))?));
        assert_eq!(got, wanted, "{sbp}");
    }
}

/// Such a view shows the storage, whatever its input shows of it.
#[test]
fn strided_views_are_of_the_whole() {
    let program = |x: &Tensor| read(&x.narrow(0, 2, 2)?.narrow(1, 1, 2)?.as_strided((2, 3), &[5, 1], 3)?);
    let wanted = program(&counted(&[5, 4]).unwrap()).unwrap();
    for sbp in ["S(0)", "S(1)", "B", "P(sum)"] {
        let got = same(3, |_| program(&spread(&counted(&[5, 4])?, &format!("cpu[0, 1, 2] [{sbp}]"))?));
        assert_eq!(got, wanted, "{sbp}");
    }
}

#[test]
fn gradients_of_writes_are_those_of_one_process() {
    let program = |x: &Tensor| -> Result<Vec<f64>> {
        x.set_requires_grad(true)?;
        let y = x.affine(2.0, 0.0)?;
        let rows = y.narrow(0, 2, 2)?;
        rows.mul_(&rows.detach().affine(0.0, 3.0)?)?;
        let z = y.narrow(1, 1, 2)?;
        z.copy_from(&z.affine(0.5, 1.0)?.narrow(0, 0, 5)?)?;
        let store = y.sum_all()?.backward()?;
        Ok([read(&y)?, read(store.get(x).expect("a gradient"))?].concat())
    };
    let wanted = program(&counted(&[5, 4]).unwrap()).unwrap();
    for sbp in ["S(0)", "S(1)", "B"] {
        let got = same(2, |_| program(&spread(&counted(&[5, 4])?, &format!("cpu[0, 1] [{sbp}]"))?.detach()));
        assert_eq!(got, wanted, "{sbp}");
    }
}

/// What the graph saved and was overwritten since is an error, as of local tensors.
#[test]
fn saved_elements_that_were_overwritten_are_an_error() {
    for result in on(2, |_| {
        let x = spread(&counted(&[4])?, "cpu[0, 1] [S(0)]")?.detach();
        x.set_requires_grad(true)?;
        let y = x.exp()?;
        let z = y.sqr()?.sum_all()?;
        no_grad(|| y.narrow(0, 0, 1)?.copy_from(&y.narrow(0, 1, 1)?))?;
        z.backward().map(drop)
    }) {
        assert!(result.unwrap_err().to_string().contains("modified by an inplace operation"));
    }
}

#[test]
fn placements_of_some_ranks_and_moves_between_them() {
    let all = same(4, |rank| {
        let x = spread(&counted(&[6])?, "cpu[2, 1] [S(0)]")?;
        let y = x.affine(2.0, 1.0)?;
        let part = part_of(&y)?;
        assert_eq!(part.elem_count(), if [1, 2].contains(&rank) { 3 } else { 0 });
        let moved = redistribute(&y, &"cpu[0, 3, 1] [S(0)]".parse()?)?;
        assert_eq!(moved.device().to_string(), "cpu[0, 3, 1]");
        assert!(moved.add(&y).unwrap_err().to_string().contains("cpu[2, 1]"));
        if rank == 0 {
            assert!(y.to_device(&Device::Cpu).unwrap_err().to_string().contains("read by rank 0"));
        }
        let all = "cpu[0, 1, 2, 3] [B]".parse()?;
        Ok([read(&redistribute(&y, &all)?)?, read(&redistribute(&moved.sqr()?, &all)?)?].concat())
    });
    let y = (0..6).map(|i| 2.0 * f64::from(i) + 1.0);
    assert_eq!(all, y.clone().chain(y.map(|y| y * y)).collect::<Vec<_>>());
}

#[test]
fn local_and_global_tensors_do_not_mix() {
    for result in on(2, |_| {
        let x = counted(&[4])?;
        spread(&x, "cpu[0, 1] [B]")?.add(&x).map(drop)
    }) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cpu[0, 1]"), "{error}");
    }
}

#[test]
fn without_a_world_there_are_no_global_tensors() {
    let error = spread(&counted(&[2]).unwrap(), "cpu[0, 1] [B]").unwrap_err();
    assert!(error.to_string().contains("world"), "{error}");
}

#[test]
fn ranks_that_call_different_things_have_errors() {
    for result in on(2, |rank| {
        let x = spread(&counted(&[4, 4])?, "cpu[0, 1] [S(0)]")?;
        let sum = if rank == 0 { x.sum(0)? } else { x.max(0)? };
        read(&sum).map(drop)
    }) {
        assert!(result.is_err());
    }
}

/// What the mean of a batch that is split costs is a number of each rank, not the batch.
#[test]
fn means_of_split_tensors_are_partial_sums() {
    let text = same(2, |_| {
        let x = spread(&counted(&[5, 4])?, "cpu[0, 1] [S(0)]")?;
        Ok(distribution_of(&x.mean_all()?)?.unwrap().to_string())
    });
    assert_eq!(text, "cpu[0, 1] [P(sum)]");
}

#[test]
fn tensors_made_beside_global_ones_are_global() -> Result<(), Error> {
    same(2, |_| {
        let x = spread(&counted(&[5])?, "cpu[0, 1] [S(0)]")?;
        let made = [x.zeros_like()?, Tensor::arange(0f64, 5.0, x.device())?, Tensor::rand(0f64, 1.0, 5, x.device())?];
        made.iter().try_fold(x.to_dtype(DType::F64)?, |sum, t| sum.add(t)).and_then(|sum| read(&sum))
    });
    Ok(())
}
