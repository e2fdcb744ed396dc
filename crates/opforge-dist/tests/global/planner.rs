//! The planner: what it finds for programs whose best plans are known, and that a simulated program spends what a real one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opforge::autograd::BackwardOptions;
use opforge::{DType, Device, Result, Tensor, functional as f};
use opforge_dist::global::{World, distribute};
use opforge_dist::planner::{Found, Lies, Machine, Simulation, Space, Spent, Variable, lay, search};
use opforge_dist::{
    Call, Collective, Costs, DeviceKind, Engine, Groups, Guard, Link, Placement, Request, Settings, Threads, balanced,
};

/// Devices of 100 TFLOP/s and 1 TB/s; eight of them with 300 GB/s between each other, and 25 GB/s beyond.
fn machine() -> Machine {
    let link = |latency, rate: f64| Link { latency, per_byte: 1.0 / rate };
    let links = vec![link(10e-6, 25e9), link(5e-6, 300e9)];
    let costs = Costs { across: links[0], links, copy: 1e-12 };
    Machine { flops: 1e14, bytes: 1e12, launch: 2e-6, memory: None, costs }
}

/// A block of a transformer, as GPT-2 has it: samples, positions, width, heads.
#[derive(Clone, Copy)]
struct Block([usize; 4]);

/// The data and the weights, which are a block's first variables; its activations follow.
const TENSORS: usize = 17;

impl Block {
    fn variables(self) -> Vec<Variable> {
        let [samples, positions, width, _] = self.0;
        let mut variables = vec![Variable::input("x", (samples, positions, width))];
        let square = [("q", width, width), ("k", width, width), ("v", width, width), ("o", width, width)];
        for (name, rows, columns) in square.into_iter().chain([("up", 4 * width, width), ("down", width, 4 * width)]) {
            variables.push(Variable::weight(format!("{name}.weight"), (rows, columns)));
            variables.push(Variable::weight(format!("{name}.bias"), rows));
        }
        let norms = ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"];
        variables.extend(norms.map(|name| Variable::weight(name, width)));
        let activations = ["norm1", "norm2", "o", "down"];
        variables.extend(activations.map(|name| Variable::activation(name, (samples, positions, width))));
        variables
    }

    /// The gradients of its weights, for the sum of what it gives. Its norms and what they are added to lie as is said.
    fn step(self, tensors: &[Tensor], lies: &[Lies]) -> Result<Vec<Tensor>> {
        let [samples, positions, width, heads] = self.0;
        tensors[1..].iter().try_for_each(|weight| weight.set_requires_grad(true))?;
        let [x, rest @ ..] = tensors else { unreachable!("variables") };
        let linear = |x: &Tensor, i: usize| f::linear(x, &rest[2 * i], Some(&rest[2 * i + 1]));
        let norm = |x: &Tensor, i: usize| {
            f::layer_norm(x, &[width as i64], Some(&rest[12 + 2 * i]), Some(&rest[13 + 2 * i]), 1e-5)
        };
        let [norm1, norm2, o, down] = lies else { unreachable!("activations") };
        let split = |x: Tensor| x.reshape((samples, positions, heads, width / heads))?.transpose(1, 2);
        let y = lay(&norm(x, 0)?, norm1)?;
        let (q, k, v) = (split(linear(&y, 0)?)?, split(linear(&y, 1)?)?, split(linear(&y, 2)?)?);
        let mixed = f::scaled_dot_product_attention(&q, &k, &v, None, 0.0, true, None, false)?;
        let mixed = mixed.transpose(1, 2)?.reshape((samples, positions, width))?;
        let x = x.add(&lay(&linear(&mixed, 3)?, o)?)?;
        let y = f::gelu(&linear(&lay(&norm(&x, 1)?, norm2)?, 4)?, "tanh")?;
        let x = x.add(&lay(&linear(&y, 5)?, down)?)?;
        opforge::autograd::accumulate(&[(x.sqr()?.sum_all()?, None)], None, BackwardOptions::default())?;
        Ok(rest.iter().map(|weight| weight.grad().expect("a gradient")).collect())
    }

    fn plan(self, machine: &Machine, mesh: &[usize]) -> Result<(Found, Duration)> {
        let start = Instant::now();
        let simulation = Simulation::new(machine, mesh)?;
        let space = Space::new(simulation.placement(), self.variables());
        let found = search(&simulation, &space, |chosen| self.simulate(&simulation, &space, chosen))?;
        Ok((found, start.elapsed()))
    }

    fn simulate(self, simulation: &Simulation, space: &Space, chosen: &[Lies]) -> Result<Spent> {
        simulation.run(|| {
            let (of_tensors, of_activations) = chosen.split_at(TENSORS);
            let all = of_tensors.iter().enumerate();
            let tensors = all.map(|(i, to)| simulation.tensor(space, i, DType::F32, to)).collect::<Result<Vec<_>>>()?;
            self.step(&tensors, of_activations)
        })?;
        Ok(simulation.take())
    }
}

fn show(found: &Found, took: Duration, space: &[Variable]) {
    println!("{} tried in {took:?}", found.tried);
    for (name, planned) in found.usual.iter().map(|(name, planned)| (*name, planned)).chain([("found", &found.best)]) {
        println!(
            "{name}: {:.3} ms, {} MiB, {:?}",
            planned.spent.seconds() * 1e3,
            planned.spent.memory >> 20,
            planned.spent
        );
    }
    for (variable, to) in space.iter().zip(&found.best.lies) {
        println!("  {} {:?}", variable.name, to);
    }
}

#[test]
fn a_block_is_planned_no_dearer_than_by_hand() -> Result<()> {
    for (mesh, samples) in [(&[8][..], 8), (&[8, 8], 64), (&[125, 80], 10_000)] {
        let block = Block([samples, 128, 1024, 16]);
        let (found, took) = block.plan(&machine(), mesh)?;
        println!("{mesh:?}");
        show(&found, took, &block.variables());
        for (name, by_hand) in &found.usual {
            assert!(found.best.spent.seconds() <= by_hand.spent.seconds(), "{name} on {mesh:?}");
        }
        assert!(found.usual.iter().any(|(name, _)| name.ends_with("columns and rows")));
    }
    Ok(())
}

/// What follows a product by rows is split between the ranks that sum it up, so that each adds and normalises a part, and is brought together once for the product after it.
#[test]
fn activations_are_decided_too() -> Result<()> {
    let block = Block([64, 128, 1024, 16]);
    let (found, _) = block.plan(&machine(), &[8, 8])?;
    let (_, by_hand) = found.usual.iter().find(|(name, _)| *name == "data parallel, columns and rows").expect("usual");
    assert!(found.best.lies[TENSORS..].iter().flatten().any(Option::is_some));
    assert!(found.best.spent.seconds() < 0.95 * by_hand.spent.seconds());
    assert!(found.best.spent.moved < by_hand.spent.moved);
    Ok(())
}

/// An engine that counts the bytes that its rank receives.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Engine>,
    received: Arc<AtomicU64>,
}

impl Engine for Counting {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn subgroup(&self, ranks: &[usize]) -> Result<Arc<dyn Engine>> {
        Ok(Arc::new(Counting { inner: self.inner.subgroup(ranks)?, received: self.received.clone() }))
    }

    fn start(&self, call: Call) -> Result<Request> {
        let (rank, size, others) = (self.rank(), call.dtype.size_in_bytes(), self.size() - 1);
        let but_own = |counts: &[usize]| counts.iter().sum::<usize>() - counts[rank];
        let elements = match &call.collective {
            Collective::AllReduce(_) => {
                let all = call.recv.len() / size;
                let own = balanced(all, others + 1, rank).len();
                others * own + all - own
            }
            Collective::ReduceScatter { counts, .. } => others * counts[rank],
            Collective::AllGather { counts } => but_own(counts),
            Collective::AllToAll { recv, .. } => but_own(recv),
            // What ranks agree on when tensors become global.
            _ => 0,
        };
        self.received.fetch_add((elements * size) as u64, Ordering::Relaxed);
        self.inner.start(call)
    }
}

/// Bytes that all of four ranks receive in a step of a block whose tensors are laid out in the chosen ways.
fn moved(block: Block, mesh: &[usize], costs: &Costs, chosen: &[Lies]) -> Result<u64> {
    let received = Threads::run(4, |engine| {
        let guard: Arc<dyn Engine> = Arc::new(Guard::new(engine, Settings::default()));
        let received = Arc::new(AtomicU64::new(0));
        let counting = Arc::new(Counting { inner: guard, received: received.clone() });
        World::with(Groups::new(counting), costs.clone()).run(|| {
            let placement = Placement::new(DeviceKind::Cpu, mesh, &[0, 1, 2, 3])?;
            let space = Space::new(&placement, block.variables());
            let place = |(variable, lies): (&Variable, &Lies)| {
                distribute(&Tensor::ones(&variable.shape, DType::F32, &Device::Cpu)?, &space.distribution(lies)?)
            };
            let (of_tensors, of_activations) = chosen.split_at(TENSORS);
            let tensors = space.variables().iter().zip(of_tensors).map(place).collect::<Result<Vec<_>>>()?;
            let world = World::current()?;
            world.settle();
            let before = received.load(Ordering::Relaxed);
            block.step(&tensors, of_activations)?;
            world.settle();
            Ok::<u64, opforge::Error>(received.load(Ordering::Relaxed) - before)
        })
    });
    received.into_iter().sum()
}

#[test]
fn ranks_receive_the_bytes_that_were_planned() -> Result<()> {
    let (block, machine) = (Block([6, 4, 16, 4]), machine());
    for mesh in [&[4][..], &[2, 2]] {
        let (found, _) = block.plan(&machine, mesh)?;
        for (name, planned) in
            found.usual.iter().map(|(name, planned)| (*name, planned)).chain([("found", &found.best)])
        {
            let received = moved(block, mesh, &machine.costs, &planned.lies)?;
            assert_eq!(received, planned.spent.moved, "{name} on {mesh:?}");
        }
    }
    Ok(())
}
