//! What changes cost.

use std::hash::Hasher;

use opforge_core::{Error, Result, Shape};
use rustc_hash::FxHasher;

use super::Change;
use crate::Distribution;

/// A connection between ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Seconds that a message takes besides its bytes.
    pub latency: f64,
    /// Seconds a byte takes.
    pub per_byte: f64,
}

/// The alpha-beta model of a machine: what a collective costs by the bytes that its busiest rank receives, and by its rounds of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Of each dimension of a mesh; the last holds for those beyond.
    pub links: Vec<Link>,
    /// Between ranks of different placements.
    pub across: Link,
    /// Seconds that a rank takes to copy a byte.
    pub copy: f64,
}

impl Default for Costs {
    /// Processes of one machine: 3 us, and 3 GB/s.
    fn default() -> Self {
        let link = Link { latency: 3e-6, per_byte: 1.0 / 3e9 };
        Costs { links: vec![link], across: link, copy: 1.0 / 10e9 }
    }
}

impl Costs {
    /// Whether a search by these costs ends.
    pub(crate) fn check(&self) -> Result<()> {
        let links = self.links.iter().chain([&self.across]);
        let numbers = links.flat_map(|link| [link.latency, link.per_byte]).chain([self.copy]);
        match numbers.into_iter().find(|number| !(0.0..f64::INFINITY).contains(number)) {
            None => Ok(()),
            Some(number) => Err(Error::value("boxing", "costs", number, "finite numbers of seconds, not negative")),
        }
    }

    /// A hash of all numbers.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = FxHasher::default();
        let links = self.links.iter().chain([&self.across]);
        let numbers = links.flat_map(|link| [link.latency, link.per_byte]).chain([self.copy]);
        numbers.for_each(|number| hasher.write_u64(number.to_bits()));
        hasher.finish()
    }

    /// Seconds that a byte takes along a dimension of a mesh.
    pub(crate) fn per_byte(&self, dim: usize) -> f64 {
        self.link(Some(dim)).per_byte
    }

    fn link(&self, dim: Option<usize>) -> Link {
        let of = |dim: usize| self.links.get(dim).or(self.links.last()).copied();
        dim.and_then(of).unwrap_or(self.across)
    }

    /// Seconds that a change takes. Estimated by the first and the last rank, the largest and the smallest part.
    pub(super) fn seconds(
        &self,
        change: Change,
        size: usize,
        shape: &Shape,
        from: &Distribution,
        to: &Distribution,
    ) -> f64 {
        let link = self.link(change.dim());
        let last = to.placement().ranks().len() - 1;
        let busiest = received(change, shape, from, to, 0).max(received(change, shape, from, to, last)) as f64;
        let copied = (to.part(shape, 0).len() * size) as f64 * self.copy;
        let ranks = match change.dim() {
            Some(dim) => from.placement().mesh()[dim],
            None => from.placement().ranks().len().max(last + 1),
        };
        let busiest = match change {
            // Few ranks that have it send more than one of many receives.
            Change::Move => busiest.max(busiest * (last + 1) as f64 / from.placement().ranks().len() as f64),
            _ => busiest,
        };
        let transfer = |rounds: f64, elements: f64| rounds * link.latency + elements * size as f64 * link.per_byte;
        let by_parts = transfer(rounds(change, ranks), busiest);
        copied
            + match change {
                // Small ones gather what all ranks have, in half the rounds.
                Change::AllReduce { .. } => {
                    let all = (ranks - 1) as f64 * to.part(shape, 0).len() as f64;
                    by_parts.min(transfer(rounds(change, ranks) / 2.0, all))
                }
                _ => by_parts,
            }
    }
}

/// How many messages follow each other.
fn rounds(change: Change, ranks: usize) -> f64 {
    let doubling = (ranks.max(1) as f64).log2().ceil();
    match change {
        Change::AllReduce { .. } => 2.0 * doubling,
        Change::ReduceScatter { .. } | Change::AllGather { .. } => doubling,
        Change::AllToAll { .. } => ranks as f64 - 1.0,
        // Each with each, of any lengths: what a collective does as well is left to that.
        Change::Move => ranks as f64,
        Change::Slice { .. } | Change::Mask { .. } | Change::Pad { .. } => 0.0,
    }
}

/// The elements that a rank receives: each part once, and for an all-reduce the parts of its own part from all ranks, and the reduced others.
pub(super) fn received(
    change: Change,
    shape: &Shape,
    from: &Distribution,
    to: &Distribution,
    position: usize,
) -> usize {
    let (new, ranks) = (to.part(shape, position), change.dim().map_or(1, |dim| from.placement().mesh()[dim]));
    match change {
        Change::Slice { .. } | Change::Mask { .. } | Change::Pad { .. } => 0,
        Change::AllReduce { dim, .. } => {
            let own = crate::balanced(new.len(), ranks, from.placement().coordinate(position, dim)).len();
            (ranks - 1) * own + (new.len() - own)
        }
        Change::ReduceScatter { .. } => (ranks - 1) * new.len(),
        Change::AllGather { .. } | Change::AllToAll { .. } => {
            new.len() - new.intersection(&from.part(shape, position)).len()
        }
        Change::Move => {
            let before = from.placement().position(to.placement().ranks()[position]);
            new.len() - before.map_or(0, |before| new.intersection(&from.part(shape, before)).len())
        }
    }
}
