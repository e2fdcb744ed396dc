//! Which of the choices that an operator's axes allow is cheapest.

use std::collections::HashMap;
use std::sync::Arc;

use opforge::operator::{AxisMap, Operator, Role};
use opforge::{Meta, Result};

use super::World;
use super::allowed::{Allowed, Choice};
use super::boxing::plan;
use crate::{Distribution, Placement, Reduction, Sbp};

/// Combinations along the dimensions of a mesh that are compared; of more, the best along each dimension alone.
const COMPARED: usize = 512;

/// A call with its tensors as they lie.
pub(super) struct Case<'a> {
    pub world: &'a World,
    pub op: &'a dyn Operator,
    pub inputs: &'a [&'a Meta],
    pub from: &'a [&'a Arc<Distribution>],
    pub outputs: &'a [Meta],
    /// Where outputs must be.
    pub to: Option<&'a [&'a Arc<Distribution>]>,
    pub placement: &'a Placement,
}

/// The distributions of inputs and outputs that cost least.
pub(super) struct Cheapest {
    pub inputs: Vec<Arc<Distribution>>,
    pub outputs: Vec<Arc<Distribution>>,
    /// Whether a dimension that lies apart is brought together because the operator needs it whole.
    pub gathers: bool,
    /// Whether parts are to know where they lie in the whole.
    pub needs_place: bool,
}

impl Case<'_> {
    /// The choice whose boxing takes the least time by the world's costs. Among equals the one that comes first: nothing split, then the axes in their
    /// order.
    pub fn cheapest(&self) -> Result<Cheapest> {
        let map = self.op.axes(self.inputs);
        // Nothing becomes partial that is not: to split or to broadcast it is cheaper in the end.
        let is_partial = |op: Reduction| self.from.iter().any(|from| from.sbp().contains(&Sbp::Partial(op)));
        let choices =
            Allowed { op: self.op, map: &map, inputs: self.inputs, outputs: self.outputs }.choices(is_partial);
        let mut costs = Memo::default();
        let dims = self.placement.mesh().len();
        let best_few = self.best_few(&choices, &mut costs)?;
        let mut best: Option<(f64, Vec<&Choice>)> = None;
        for combination in combinations(&best_few, dims) {
            if !self.is_even(&combination) {
                continue;
            }
            let cost = self.cost(&combination, &mut costs)?;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, combination));
            }
        }
        // The first choice, nothing split, is always there.
        let chosen = best.map_or_else(|| vec![&choices[0]; dims], |(_, chosen)| chosen);
        let distributions = |sides: &dyn Fn(&Choice) -> &[Sbp], count: usize| -> Result<Vec<Arc<Distribution>>> {
            (0..count).map(|i| self.distribution(&chosen, |choice| sides(choice)[i]).map(Arc::new)).collect()
        };
        let inputs = distributions(&|choice| &choice.inputs, self.inputs.len())?;
        // Equal ones are the same, which is fast to see.
        let same = |to: Arc<Distribution>, from: &&Arc<Distribution>| if to == **from { (*from).clone() } else { to };
        let inputs: Vec<_> = inputs.into_iter().zip(self.from).map(|(to, from)| same(to, from)).collect();
        let outputs = distributions(&|choice| &choice.outputs, self.outputs.len())?;
        let outputs = outputs.into_iter().map(|to| match inputs.iter().find(|input| **input == to) {
            Some(input) => input.clone(),
            None => to,
        });
        let outputs = outputs.collect();
        let needs_place = map.roles.iter().any(|role| role.needs_place());
        Ok(Cheapest { gathers: self.gathers(&map, &inputs), needs_place, inputs, outputs })
    }

    /// The choices to combine: all of them, or those that cost least along each dimension of the mesh alone.
    fn best_few<'c>(&self, choices: &'c [Choice], costs: &mut Memo) -> Result<Vec<&'c Choice>> {
        let dims = self.placement.mesh().len();
        let most = (1..).take_while(|&count: &usize| count.saturating_pow(dims as u32) <= COMPARED).last().unwrap_or(1);
        if choices.len() <= most {
            return Ok(choices.iter().collect());
        }
        let mut ranked = Vec::new();
        for (i, choice) in choices.iter().enumerate() {
            ranked.push((self.cost(&vec![choice; dims], costs)?, i));
        }
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = ranked.into_iter().map(|(_, i)| i).take(most).chain([0]).collect();
        kept.sort_unstable();
        kept.dedup();
        Ok(kept.into_iter().map(|i| &choices[i]).collect())
    }

    /// Whether blocks are divided evenly along all dimensions of the mesh that split them.
    fn is_even(&self, combination: &[&Choice]) -> bool {
        combination.iter().all(|choice| {
            let same = combination.iter().zip(self.placement.mesh()).filter(|(other, _)| *other == choice);
            choice.divides_into(same.map(|(_, &ranks)| ranks).product())
        })
    }

    fn distribution(&self, combination: &[&Choice], of: impl Fn(&Choice) -> Sbp) -> Result<Distribution> {
        let sbp: Vec<Sbp> = combination.iter().map(|choice| of(choice)).collect();
        Distribution::new(self.placement.clone(), &sbp)
    }

    /// Seconds of boxing: of inputs, of outputs that must be elsewhere, and of what becomes partial, which is to be reduced in the end.
    fn cost(&self, combination: &[&Choice], costs: &mut Memo) -> Result<f64> {
        let mut sum = 0.0;
        for (i, (meta, from)) in self.inputs.iter().zip(self.from).enumerate() {
            let to = self.distribution(combination, |choice| choice.inputs[i])?;
            sum += costs.of(self.world, i, meta, from, &to)?;
        }
        for (i, meta) in self.outputs.iter().enumerate() {
            let from = self.distribution(combination, |choice| choice.outputs[i])?;
            match self.to {
                Some(to) => sum += costs.of(self.world, self.inputs.len() + i, meta, &from, to[i])?,
                None => sum += self.reducing(combination, i, meta, &from),
            }
        }
        Ok(sum)
    }

    /// Seconds in which the bytes arrive that reduce an output along dimensions of the mesh where no input was partial before. Rounds do not count: it may be
    /// added to others first.
    fn reducing(&self, combination: &[&Choice], output: usize, meta: &Meta, from: &Distribution) -> f64 {
        let is_partial = |sbp: &Sbp| matches!(sbp, Sbp::Partial(_));
        let was_partial = |dim: usize| self.from.iter().any(|from| from.sbp().get(dim).is_some_and(is_partial));
        let bytes = (from.part(meta.shape(), 0).len() * meta.dtype.size_in_bytes()) as f64;
        let seconds = |(dim, (choice, &ranks)): (usize, (&&Choice, &usize))| match is_partial(&choice.outputs[output])
            && !was_partial(dim)
        {
            true => self.world.costs().per_byte(dim) * bytes * (ranks - 1) as f64 / ranks as f64,
            false => 0.0,
        };
        combination.iter().zip(self.placement.mesh()).enumerate().map(seconds).sum()
    }

    /// Whether an input's dimension was split, is not any more, and its axis may not be.
    fn gathers(&self, map: &AxisMap, to: &[Arc<Distribution>]) -> bool {
        self.from.iter().zip(to).zip(&map.inputs).any(|((from, to), names)| {
            let pairs = from.sbp().iter().zip(to.sbp());
            pairs.into_iter().any(|(from, to)| match from {
                Sbp::Split(d) if from != to => names[*d].is_none_or(|axis| map.roles[usize::from(axis)] == Role::Whole),
                _ => false,
            })
        })
    }
}

/// What boxing of each tensor costs.
#[derive(Default)]
struct Memo(HashMap<(usize, Distribution, Distribution), f64>);

impl Memo {
    fn of(&mut self, world: &World, i: usize, meta: &Meta, from: &Distribution, to: &Distribution) -> Result<f64> {
        if from == to {
            return Ok(0.0);
        }
        let key = (i, from.clone(), to.clone());
        if let Some(seconds) = self.0.get(&key) {
            return Ok(*seconds);
        }
        let seconds = plan(world, meta, from, to)?.seconds();
        self.0.insert(key, seconds);
        Ok(seconds)
    }
}

/// All ways to choose for each of `dims` dimensions.
fn combinations<'c>(choices: &[&'c Choice], dims: usize) -> Vec<Vec<&'c Choice>> {
    (0..dims).fold(vec![vec![]], |begun, _| {
        let longer = |begun: &Vec<&'c Choice>| {
            choices.iter().map(|&choice| begun.iter().copied().chain([choice]).collect()).collect::<Vec<_>>()
        };
        begun.iter().flat_map(longer).collect()
    })
}
