//! Operators whose elements depend on their place in the whole: draws, and what is looked up or written along a dimension that is split. Parts have one
//! process's bits, and neither more is computed nor more is sent than they need.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::autograd::{BackwardOptions, grad};
use opforge::functional as f;
use opforge::{DType, Device, Generator, Result, Tensor};
use opforge_dist::global::{World, device_of, distribute, distribution_of, make_in};
use opforge_dist::{Distribution, Engine, Guard, Settings, Threads};
use opforge_runtime::vm::{
    self,
    trace::{self, Event, Kind},
};

/// Recordings are of the whole process.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn on<T: Send>(ranks: usize, program: impl Fn(usize) -> Result<T> + Sync) -> Vec<T> {
    let all = Threads::run(ranks, |engine| {
        let guard = Arc::new(Guard::new(engine, Settings::default()));
        let rank = guard.rank();
        let result = World::new(guard.clone()).run(|| program(rank));
        if let Err(error) = &result {
            guard.abort(error);
        }
        result
    });
    all.into_iter().map(|result| result.unwrap()).collect()
}

/// Splits of two dimensions, with those that leave some ranks without elements.
const SPLITS: [(usize, &[&str]); 4] = [
    (1, &["cpu[0] [S(0)]"]),
    (2, &["cpu[0, 1] [B]", "cpu[0, 1] [S(0)]", "cpu[0, 1] [S(1)]"]),
    (3, &["cpu[0, 1, 2] [S(0)]", "cpu[0, 1, 2] [S(1)]", "cpu[0, 2] [S(1)]"]),
    (4, &["cpu[[0, 1], [2, 3]] [S(0), S(1)]", "cpu[[0, 1], [2, 3]] [S(1), S(1)]", "cpu[[0, 1], [2, 3]] [B, S(0)]"]),
];

type Draw = fn(&Device, &Generator) -> Result<Tensor>;

fn draws() -> Vec<(&'static str, Draw)> {
    const SIZE: [i64; 2] = [67, 3];
    fn ones(device: &Device) -> Result<Tensor> {
        Tensor::ones((67, 3), DType::F64, device)
    }
    vec![
        ("rand", |d, g| f::rand(&SIZE, Some(g.clone()), Some(DType::F32), Some(*d), false)),
        ("rand", |d, g| f::rand(&SIZE, Some(g.clone()), Some(DType::F64), Some(*d), false)),
        ("rand", |d, g| f::rand(&[2, 3], Some(g.clone()), Some(DType::BF16), Some(*d), false)),
        ("randn", |d, g| f::randn(&SIZE, Some(g.clone()), Some(DType::F32), Some(*d), false)),
        ("randn", |d, g| f::normal_of_size(2.0, 3.0, &SIZE, Some(g.clone()), Some(DType::F64), Some(*d), false)),
        ("randint", |d, g| f::randint(-5, 1000, &SIZE, Some(g.clone()), None, Some(*d), false)),
        ("bernoulli", |d, g| f::bernoulli_of(&ones(d)?, 0.3, Some(g.clone()))),
        ("poisson", |d, g| f::poisson(&ones(d)?.affine(4.0, 0.0)?, Some(g.clone()))),
    ]
}

#[test]
fn parts_of_draws_are_those_of_one_process() {
    let _turn = turn();
    for (name, draw) in draws() {
        let one = || {
            let generator = Generator::new();
            generator.manual_seed(11);
            let all = [draw(&Device::Cpu, &generator)?, draw(&Device::Cpu, &generator)?];
            all.iter().map(Tensor::to_scalars).collect::<Result<Vec<_>>>()
        };
        let wanted = format!("{:?}", one().unwrap());
        for (ranks, splits) in SPLITS {
            for text in splits {
                let all = on(ranks, |_| {
                    let generator = Generator::new();
                    generator.manual_seed(11);
                    let to: Distribution = text.parse()?;
                    let device = device_of(to.placement())?;
                    // The second shows that the generators of all ranks have gone on alike.
                    let both = [(); 2].map(|()| make_in(&to, || draw(&device, &generator)));
                    let everywhere: Distribution =
                        format!("{} [{}]", to.placement(), vec!["B"; to.sbp().len()].join(", ")).parse()?;
                    let mut read = Vec::new();
                    for drawn in both {
                        let drawn = opforge_dist::global::redistribute(&drawn?, &everywhere)?;
                        read.push(opforge_dist::global::part_of(&drawn)?.to_scalars()?);
                    }
                    Ok(format!("{read:?}"))
                });
                let members = text.parse::<Distribution>().unwrap();
                for &rank in members.placement().ranks() {
                    assert_eq!(all[rank], wanted, "{name} {text} rank {rank}");
                }
            }
        }
    }
}

fn recorded(ranks: usize, program: impl Fn() -> Result<()> + Sync) -> Vec<Event> {
    on(ranks, |_| {
        trace::start();
        Ok(())
    });
    on(ranks, |_| program());
    vm::synchronize().expect("no failure");
    trace::stop()
}

fn bytes(events: &[Event], which: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| which(event)).map(|event| event.bytes).sum()
}

#[test]
fn ranks_draw_no_more_than_their_parts() {
    let _turn = turn();
    for text in ["cpu[0, 1, 2] [S(0)]", "cpu[0, 1, 2] [S(1)]"] {
        let events = recorded(3, || {
            let to: Distribution = text.parse()?;
            let drawn =
                make_in(&to, || f::rand(&[70, 50], None, Some(DType::F32), Some(device_of(to.placement())?), false))?;
            assert_eq!(distribution_of(&drawn)?.as_deref(), Some(&to));
            let dropped = f::dropout(&drawn, 0.5, true, false)?;
            assert_eq!(distribution_of(&dropped)?.as_deref(), Some(&to));
            Ok(())
        });
        for op in ["rand", "dropout"] {
            assert_eq!(bytes(&events, |event| event.op == op), 70 * 50 * 4, "{op} {text}");
        }
    }
}

/// The rows of a table that indices name, and the table's gradient.
fn rows(table: &Tensor, ids: &Tensor) -> Result<[Tensor; 2]> {
    table.set_requires_grad(true)?;
    let rows = f::embedding(ids, table, None, None, 2.0, false, false)?;
    let weights = rows.detach().affine(0.5, 1.0)?;
    let gradient = grad(&[(rows.mul(&weights)?.sum_all()?, None)], &[table], BackwardOptions::default())?;
    Ok([rows, gradient[0].clone().expect("a gradient")])
}

/// Losses of classes, and the logits' gradient.
fn losses(logits: &Tensor, target: &Tensor) -> Result<[Tensor; 2]> {
    logits.set_requires_grad(true)?;
    let loss = f::cross_entropy(logits, target, None, 2, "mean", 0.1)?;
    let gradient = grad(&[(loss.clone(), None)], &[logits], BackwardOptions::default())?;
    Ok([loss, gradient[0].clone().expect("a gradient")])
}

fn numbers(dims: &[usize]) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    Tensor::arange(0f64, count as f64, &Device::Cpu)?.affine(0.37, 0.1)?.sin()?.reshape(dims)
}

fn values(tensors: [Tensor; 2]) -> Result<Vec<f64>> {
    let all = tensors.map(|t| t.detach().to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<f64>());
    Ok(all.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

type Lookup = fn(&Tensor, &Tensor) -> Result<[Tensor; 2]>;

/// Lookups, what they look into, and the dimension that is split.
fn lookups() -> [(Lookup, Tensor, usize); 2] {
    [(rows, numbers(&[100, 6]).unwrap(), 0), (losses, numbers(&[5, 100]).unwrap(), 1)]
}

const MESHES: [(usize, &str, usize); 4] =
    [(1, "cpu[0]", 1), (2, "cpu[0, 1]", 1), (3, "cpu[0, 1, 2]", 1), (4, "cpu[[0, 1], [2, 3]]", 2)];

#[test]
fn split_tables_and_classes_give_what_whole_ones_give() {
    let _turn = turn();
    let ids = Tensor::new(&[0i64, 99, 33, 34, 34], &Device::Cpu).unwrap();
    for (lookup, whole, dim) in lookups() {
        let wanted = values(lookup(&whole.detach(), &ids).unwrap()).unwrap();
        for (ranks, mesh, dims) in MESHES {
            for along in [format!("S({dim})"), "B".into(), format!("S({})", 1 - dim), "P(sum)".into()] {
                for of_ids in ["B", "S(0)"] {
                    let lies = |sbp: &str| format!("{mesh} [{}]", vec![sbp; dims].join(", "));
                    let got = on(ranks, |_| {
                        let x = distribute(&whole, &lies(&along).parse()?)?.detach();
                        values(lookup(&x, &distribute(&ids, &lies(of_ids).parse()?)?)?)
                    });
                    let near = |got: &Vec<f64>| got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12);
                    assert!(
                        got.iter().all(|got| got.len() == wanted.len() && near(got)),
                        "{along}, {of_ids} on {mesh}"
                    );
                }
            }
        }
    }
}

#[test]
fn nothing_is_sent_but_what_was_looked_up() {
    let _turn = turn();
    for (lookup, whole, dim) in lookups() {
        let shape = whole.shape().clone();
        let events = recorded(3, || {
            let split: Distribution = format!("cpu[0, 1, 2] [S({dim})]").parse()?;
            let device = device_of(split.placement())?;
            let x = make_in(&split, || Tensor::full(0.5f64, &shape, &device))?.detach();
            let ids = Tensor::new(&[0i64, 99, 33, 34, 34], &Device::Cpu)?;
            let [found, gradient] = lookup(&x, &distribute(&ids, &"cpu[0, 1, 2] [B]".parse()?)?)?;
            assert_eq!(distribution_of(&gradient)?.as_deref(), Some(&split));
            let sbp = distribution_of(&found)?.expect("a global tensor").sbp()[0].to_string();
            assert!(dim == 1 || sbp == "P(sum)", "{sbp}");
            Ok(())
        });
        let sent = bytes(&events, |event| event.kind == Kind::Communication);
        // The table has 4800 bytes: whole on three ranks, it would be 9600.
        assert!(sent > 0 && sent < 1600, "{sent} bytes");
        // The gradient's zeros, too, are made in parts.
        let written = bytes(&events, |event| event.op == "index_add" || event.op == "scatter_add");
        assert_eq!(written, shape.elem_count() * 8);
    }
}

#[test]
fn what_no_part_has_is_an_error_that_names_the_whole() {
    let _turn = turn();
    let ids = Tensor::new(&[0i64, 100], &Device::Cpu).unwrap();
    let errors = Threads::run(3, |engine| {
        World::new(Arc::new(Guard::new(engine, Settings::default()))).run(|| {
            let table = distribute(&numbers(&[100, 6])?, &"cpu[0, 1, 2] [S(0)]".parse()?)?;
            let found = table.index_select(&distribute(&ids, &"cpu[0, 1, 2] [B]".parse()?)?, 0)?;
            opforge_dist::global::part_of(&found)?.to_vec2::<f64>()
        })
    });
    for error in errors {
        let text = error.unwrap_err().to_string();
        assert!(text.contains("100"), "{text}");
    }
}
