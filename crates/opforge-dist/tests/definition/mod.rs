//! What a distribution means, said directly: which values ranks have, and which value they stand for.
#![allow(dead_code)]

use opforge_core::{DType, Result, Shape};
use opforge_dist::{
    Buffer, Costs, DeviceKind, Distribution, Engine, Groups, Place, Placement, Plan, Reduction, Region, Sbp,
};

/// A tensor of small whole numbers, 1 to 7, or of 0 and 1.
#[derive(Debug, Clone)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Shape,
}

/// The pair of distributions of one case.
pub type Pair = (Distribution, Distribution);

pub fn distribution(mesh: &[usize], ranks: &[usize], sbp: &[Sbp]) -> Distribution {
    Distribution::new(Placement::new(DeviceKind::Cpu, mesh, ranks).unwrap(), sbp).unwrap()
}

impl Tensor {
    fn value(&self, index: usize) -> i64 {
        let value = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        if self.dtype == DType::Bool { (value % 2) as i64 } else { (value % 7 + 1) as i64 }
    }

    fn buffer(&self, values: &[i64]) -> Result<Buffer> {
        match self.dtype {
            DType::Bool => Buffer::of(&values.iter().map(|&x| x != 0).collect::<Vec<bool>>()),
            DType::F32 => Buffer::of(&values.iter().map(|&x| x as f32).collect::<Vec<_>>()),
            _ => Buffer::of(values),
        }
    }

    fn values(&self, buffer: &Buffer) -> Result<Vec<i64>> {
        Ok(match self.dtype {
            DType::Bool => buffer.to_vec::<bool>()?.into_iter().map(i64::from).collect(),
            DType::F32 => buffer.to_vec::<f32>()?.into_iter().map(|x| x as i64).collect(),
            _ => buffer.to_vec()?,
        })
    }

    /// Of bools, the greater is any, and the smaller all.
    fn logical(&self, op: Reduction) -> Reduction {
        match op {
            Reduction::Max if self.dtype == DType::Bool => Reduction::Any,
            Reduction::Min if self.dtype == DType::Bool => Reduction::All,
            op => op,
        }
    }

    /// The elements of a region, by their numbers in the tensor.
    fn indices(&self, region: &Region) -> Vec<usize> {
        let dims = self.shape.dims();
        let all = 0..self.shape.elem_count();
        let index = |mut number: usize| -> Vec<usize> {
            let mut index: Vec<usize> =
                dims.iter().rev().map(|&length| (number % length, number /= length).0).collect();
            index.reverse();
            index
        };
        all.filter(|&number| index(number).iter().zip(region.ranges()).all(|(i, range)| range.contains(i))).collect()
    }

    /// What a position has, partial values made so that they stand for the tensor's.
    fn part(&self, distribution: &Distribution, position: usize) -> Result<Buffer> {
        let region = distribution.region(&self.shape, position)?;
        let partial = |number: usize| {
            let dims = distribution.sbp().iter().enumerate();
            dims.fold(self.value(number), |value, (dim, sbp)| match sbp {
                Sbp::Partial(op) => {
                    let length = distribution.placement().mesh()[dim];
                    share(self.logical(*op), value, coordinate(distribution, position, dim), length, number)
                }
                _ => value,
            })
        };
        self.buffer(&self.indices(&region).into_iter().map(partial).collect::<Vec<_>>())
    }

    /// What a rank has of a distribution without partial values.
    pub fn expected(&self, distribution: &Distribution, rank: usize) -> Result<Option<Vec<i64>>> {
        let part = distribution.placement().position(rank).map(|position| self.part(distribution, position));
        part.transpose()?.map(|part| self.values(&part)).transpose()
    }

    /// Whether the parts stand for the tensor; which element does not, and what stands there.
    pub fn check(&self, distribution: &Distribution, parts: &[Vec<i64>]) -> std::result::Result<(), String> {
        for (position, part) in parts.iter().enumerate() {
            let numbers = self.indices(&distribution.region(&self.shape, position).unwrap());
            if part.len() != numbers.len() {
                return Err(format!("position {position} has {} elements of {}", part.len(), numbers.len()));
            }
            for (at, number) in numbers.into_iter().enumerate() {
                let got = meaning(distribution, parts, position, 0, at);
                if got != self.value(number) {
                    return Err(format!("element {number} at position {position}: {got}, not {}", self.value(number)));
                }
            }
        }
        Ok(())
    }
}

fn stride(distribution: &Distribution, dim: usize) -> usize {
    distribution.placement().mesh()[dim + 1..].iter().product()
}

fn coordinate(distribution: &Distribution, position: usize, dim: usize) -> usize {
    position / stride(distribution, dim) % distribution.placement().mesh()[dim]
}

/// What one of `length` ranks has of a value.
fn share(op: Reduction, value: i64, rank: usize, length: usize, number: usize) -> i64 {
    let other = |rank: usize| ((number + 2 * rank) % 5) as i64;
    match op {
        Reduction::Sum if rank == 0 => value - (1..length).map(other).sum::<i64>(),
        Reduction::Sum => other(rank),
        Reduction::Product if rank == 0 => value * if length.is_multiple_of(2) { -1 } else { 1 },
        Reduction::Product => -1,
        _ if rank == number % length => value,
        Reduction::Max => value - other(rank),
        Reduction::Min => value + other(rank),
        Reduction::Any => value & other(rank) & 1,
        Reduction::All => value | other(rank) & 1,
    }
}

/// What an element of a position's part stands for: partial values reduced, along the last dimension of the mesh first.
fn meaning(distribution: &Distribution, parts: &[Vec<i64>], position: usize, dim: usize, at: usize) -> i64 {
    let Some(sbp) = distribution.sbp().get(dim) else { return parts[position][at] };
    let Sbp::Partial(op) = sbp else { return meaning(distribution, parts, position, dim + 1, at) };
    let stride = stride(distribution, dim);
    let first = position - coordinate(distribution, position, dim) * stride;
    let length = distribution.placement().mesh()[dim];
    let all = (0..length).map(|rank| meaning(distribution, parts, first + rank * stride, dim + 1, at));
    let reduced = match op {
        Reduction::Sum => Some(all.sum()),
        Reduction::Product => Some(all.product()),
        Reduction::Max | Reduction::Any => all.max(),
        Reduction::Min | Reduction::All => all.min(),
    };
    reduced.unwrap_or_default()
}

/// Executes the plans of pairs one after the other at one rank; the parts after each.
pub fn execute(engine: std::sync::Arc<dyn Engine>, tensor: &Tensor, pairs: &[Pair]) -> Result<Vec<Option<Vec<i64>>>> {
    let (rank, groups, place) = (engine.rank(), Groups::new(engine), Place::here());
    let one = |(from, to): &Pair| {
        let plan = Plan::new(tensor.dtype, tensor.shape.clone(), from.clone(), to.clone(), &Costs::default())?;
        let part = from.placement().position(rank).map(|position| tensor.part(from, position)).transpose()?;
        let part = plan.execute(&groups, part, &place)?;
        part.map(|part| tensor.values(&part)).transpose()
    };
    pairs.iter().map(one).collect()
}

/// Executes the plans of pairs on so many ranks, and checks what comes out; the first pair that is wrong.
pub fn check_all(ranks: usize, tensor: &Tensor, pairs: &[Pair]) -> std::result::Result<(), String> {
    use opforge_dist::{Guard, Settings, Threads};
    let program = |engine| execute(std::sync::Arc::new(Guard::new(engine, Settings::default())), tensor, pairs);
    let results: std::result::Result<Vec<_>, _> = Threads::run(ranks, program).into_iter().collect();
    let results = results.map_err(|error| error.to_string())?;
    for (number, (from, to)) in pairs.iter().enumerate() {
        let parts = to.placement().ranks().iter().map(|&rank| results[rank][number].clone());
        let said = |error: String| format!("{:?} {:?}, {from} to {to}: {error}", tensor.dtype, tensor.shape.dims());
        let parts = parts.collect::<Option<Vec<_>>>().ok_or_else(|| said("a rank has nothing".into()))?;
        tensor.check(to, &parts).map_err(said)?;
        let outside = (0..ranks).filter(|&rank| to.placement().position(rank).is_none());
        if let Some(rank) = outside.into_iter().find(|&rank| results[rank][number].is_some()) {
            return Err(said(format!("rank {rank} has something")));
        }
    }
    Ok(())
}
