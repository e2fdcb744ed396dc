//! Random programs of views, operators, changes in place and boxing: on global tensors they give what they give on local ones.

use std::sync::Arc;

use opforge::autograd::{BackwardOptions, grad};
use opforge::{D, Device, Result, Tensor};
use opforge_dist::global::{World, distribute, redistribute};
use opforge_dist::{Distribution, Engine, Guard, Settings, Threads};
use proptest::prelude::*;

/// One step: what is done with the last tensors, and numbers that choose dimensions and places.
type Step = (usize, usize, usize);

const KINDS: usize = 22;

struct Program<'a> {
    steps: &'a [Step],
    /// Brings a tensor to the distribution of a number; nothing in one process.
    boxed: &'a dyn Fn(&Tensor, usize) -> Result<Tensor>,
}

impl Program<'_> {
    fn run(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let mut all = vec![x.affine(0.5, 0.25)?, x.sqr()?.affine(-0.125, 1.0)?];
        for &(kind, i, j) in self.steps {
            let last = all.last().unwrap_or(x).clone();
            let other = all[i % all.len()].clone();
            if let Some(made) = self.step(kind, &last, &other, i, j)? {
                all.push(made);
            }
        }
        Ok(all)
    }

    fn step(&self, kind: usize, last: &Tensor, other: &Tensor, i: usize, j: usize) -> Result<Option<Tensor>> {
        let rank = last.rank();
        let d = if rank == 0 { return self.of_number(kind, last, other, i) } else { i % rank };
        let length = last.dims()[d];
        let (start, count) = if length == 0 { (0, 0) } else { (j % length, 1 + i % (length - j % length)) };
        Ok(Some(match kind {
            0 => last.narrow(d, start, count)?,
            1 => last.transpose(d, j % rank)?,
            2 => last.flatten_all()?,
            3 if last.elem_count().is_multiple_of(2) => last.reshape((2, last.elem_count() / 2))?,
            4 => last.unsqueeze(d)?.broadcast_as([&last.dims()[..d], &[2][..], &last.dims()[d..]].concat())?,
            5 => last.flip(&[d])?,
            6 => last.slice(d, 0, length, 2)?,
            7 => last.sum_keepdim(d)?,
            8 => last.mean(d)?,
            9 if length > 0 => last.max(d)?,
            10 if length > 0 => opforge::functional::softmax(last, d as i64, None)?,
            11 => Tensor::cat(&[last, &last.affine(2.0, 0.0)?], d)?,
            12 => last.sin()?,
            13 => last.broadcast_add(&other.mean_all()?)?,
            14 if other.shape() == last.shape() => last.mul(other)?,
            15 => opforge::functional::cumsum(last, d as i64, None)?,
            16 if last.rank() >= 2 => last.matmul(&last.transpose(D::Minus1, D::Minus2)?)?.affine(0.125, 0.0)?,
            17 if length > 0 => last.index_select(&Tensor::new(&[start as i64, 0], last.device())?, d)?,
            // Changes in place, through a view.
            18 | 19 if last.elem_count() > 0 => {
                let own = last.affine(1.0, 0.5)?;
                let view = own.narrow(d, start, count)?;
                let values = view.affine(-1.0, 0.125)?;
                if kind == 18 {
                    view.copy_from(&values)?
                } else {
                    view.transpose(0, j % rank)?.copy_from(&values.transpose(0, j % rank)?)?
                }
                own
            }
            20 | 21 => (self.boxed)(last, i)?,
            _ => return Ok(None),
        }))
    }

    fn of_number(&self, kind: usize, last: &Tensor, other: &Tensor, i: usize) -> Result<Option<Tensor>> {
        Ok(Some(match kind {
            0..8 => other.broadcast_mul(last)?,
            8..16 => last.reshape((1, 1))?,
            20 | 21 => (self.boxed)(last, i)?,
            _ => return Ok(None),
        }))
    }

    /// Results, and the gradient of their sum.
    fn with_gradient(&self, x: &Tensor) -> Result<Vec<(Vec<usize>, Vec<f64>)>> {
        x.set_requires_grad(true)?;
        let mut all = self.run(x)?;
        let total = all.iter().map(Tensor::sum_all).reduce(|a, b| a?.add(&b?)).unwrap_or_else(|| x.sum_all())?;
        all.extend(grad(&[(total, None)], &[x], BackwardOptions::default())?.into_iter().flatten());
        let read = |t: &Tensor| Ok((t.dims().to_vec(), t.detach().flatten_all()?.to_vec1::<f64>()?));
        all.iter().map(read).collect()
    }
}

fn start(dims: &[usize]) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    Tensor::arange(0f64, count as f64, &Device::Cpu)?.affine(0.37, -1.0)?.sin()?.reshape(dims)
}

fn distribution(mesh: &str, dims: usize, rank: usize, choice: usize) -> Result<Distribution> {
    let one = |n: usize| match n % (rank + 2) {
        0 => "B".to_owned(),
        1 => "P(sum)".to_owned(),
        d => format!("S({})", d - 2),
    };
    let all: Vec<String> = (0..dims).map(|i| one(choice / (rank + 2).pow(i as u32))).collect();
    format!("{mesh} [{}]", all.join(", ")).parse()
}

fn check(
    dims: &[usize],
    mesh: &str,
    ranks: usize,
    first: usize,
    steps: &[Step],
) -> std::result::Result<(), TestCaseError> {
    let alone = Program { steps, boxed: &|t, _| Ok(t.clone()) };
    let Ok(wanted) = start(dims).and_then(|x| alone.with_gradient(&x)) else { return Ok(()) };
    let meshes = mesh.matches("[[").count() + 1;
    let results = Threads::run(ranks, |engine| {
        let guard = Arc::new(Guard::new(engine, Settings::default()));
        let result = World::new(guard.clone()).run(|| {
            let boxed = |t: &Tensor, choice| redistribute(t, &distribution(mesh, meshes, t.rank(), choice)?);
            let x = distribute(&start(dims)?, &distribution(mesh, meshes, dims.len(), first)?)?.detach();
            Program { steps, boxed: &boxed }.with_gradient(&x)
        });
        if let Err(error) = &result {
            guard.abort(error);
        }
        result
    });
    for (rank, got) in results.into_iter().enumerate() {
        let got = got.map_err(|error| TestCaseError::fail(format!("rank {rank}: {error}")))?;
        prop_assert_eq!(got.len(), wanted.len());
        for (i, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            prop_assert_eq!(&got.0, &wanted.0, "result {} of rank {}", i, rank);
            let near = got.1.iter().zip(&wanted.1).all(|(a, b)| (a - b).abs() <= 1e-8 * (1.0 + b.abs()));
            prop_assert!(near, "result {} of rank {}: {:?}, not {:?}", i, rank, got, wanted);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn programs_give_what_they_give_alone(
        dims in prop::collection::vec(1usize..5, 1..4),
        (mesh, ranks) in prop::sample::select(vec![("cpu[0, 1]", 2), ("cpu[0, 1, 2]", 3), ("cpu[[0, 1], [2, 3]]", 4)]),
        first in 0usize..25,
        steps in prop::collection::vec((0..KINDS, 0usize..12, 0usize..12), 1..10),
    ) {
        check(&dims, mesh, ranks, first, &steps)?;
    }
}
