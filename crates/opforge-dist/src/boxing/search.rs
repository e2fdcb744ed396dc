//! The search for the cheapest route: Dijkstra's, over distributions.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use opforge_core::{DType, Error, Result, Shape};

use super::{Change, Costs};
use crate::{Distribution, Sbp};

/// A change with the distributions before and after.
pub(super) type Hop = (Change, Distribution, Distribution);

/// Whether a tensor can be distributed so.
pub(super) fn check(dtype: DType, shape: &Shape, distribution: &Distribution) -> Result<()> {
    distribution.check(shape)?;
    let refused = |sbp: &&Sbp| matches!(sbp, Sbp::Partial(op) if !op.takes(dtype));
    match distribution.sbp().iter().find(refused) {
        None => Ok(()),
        Some(sbp) => {
            Err(Error::dtype("boxing", "dtype", format!("{sbp} of {dtype}"), "a reduction that takes the dtype"))
        }
    }
}

/// The changes of the cheapest route.
pub(super) fn cheapest(
    dtype: DType,
    shape: &Shape,
    from: &Distribution,
    to: &Distribution,
    costs: &Costs,
) -> Result<Vec<Hop>> {
    if from.placement().device() != to.placement().device() {
        return Err(Error::devices("boxing", from.placement().device(), to.placement().device()));
    }
    let search = Search { size: dtype.size_in_bytes(), shape, from, to, costs, values: values(shape, from, to) };
    search
        .run()
        .ok_or_else(|| Error::value("boxing", "distributions", format!("{from} to {to}"), "a pair with a route"))
}

/// What a dimension of a mesh may be on the way: what it is before and after, broadcast, and split along the longest dimension of the tensor.
fn values(shape: &Shape, from: &Distribution, to: &Distribution) -> Vec<Sbp> {
    let longest = (0..shape.rank()).max_by_key(|&axis| (shape.dims()[axis], std::cmp::Reverse(axis)));
    let given = from.sbp().iter().chain(to.sbp()).copied();
    let mut values: Vec<Sbp> = given.chain([Sbp::Broadcast]).chain(longest.map(Sbp::Split)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

struct Search<'a> {
    size: usize,
    shape: &'a Shape,
    from: &'a Distribution,
    to: &'a Distribution,
    costs: &'a Costs,
    values: Vec<Sbp>,
}

/// The best way to each distribution: its time, the last change, and where that comes from.
type Best = HashMap<Distribution, (f64, Option<(Change, Distribution)>)>;

/// A distribution that can be reached, in so much time.
struct Reached {
    seconds: f64,
    /// Of two that take equally long, that of fewer changes comes first, then that which was found first.
    changes: usize,
    number: usize,
    distribution: Distribution,
}

impl Search<'_> {
    fn run(&self) -> Option<Vec<Hop>> {
        let mut best = Best::new();
        let mut heap = BinaryHeap::new();
        best.insert(self.from.clone(), (0.0, None));
        heap.push(Reached { seconds: 0.0, changes: 0, number: 0, distribution: self.from.clone() });
        let mut number = 0;
        while let Some(Reached { seconds, changes, distribution, .. }) = heap.pop() {
            if distribution == *self.to {
                return Some(route(&best, distribution));
            }
            if best.get(&distribution).is_some_and(|(known, _)| *known < seconds) {
                continue;
            }
            for (change, next) in self.changes(&distribution) {
                let seconds = seconds + self.costs.seconds(change, self.size, self.shape, &distribution, &next);
                if best.get(&next).is_none_or(|(known, _)| seconds < *known) {
                    best.insert(next.clone(), (seconds, Some((change, distribution.clone()))));
                    number += 1;
                    heap.push(Reached { seconds, changes: changes + 1, number, distribution: next });
                }
            }
        }
        None
    }

    /// All changes of a distribution.
    fn changes(&self, distribution: &Distribution) -> Vec<(Change, Distribution)> {
        let dims = 0..distribution.sbp().len();
        let pairs = dims.flat_map(|dim| self.values.iter().map(move |&sbp| (dim, sbp)));
        let along = |(dim, sbp)| Some((Change::along(distribution, dim, sbp)?, distribution.with(dim, sbp)));
        let mut changes: Vec<_> = pairs.filter_map(along).collect();
        if !distribution.is_partial() {
            changes.extend(self.goals(distribution).into_iter().map(|goal| (Change::Move, goal)));
        }
        changes
    }

    /// Where a tensor may move: within its placement to the end, to the other placement as anything that is not partial.
    fn goals(&self, distribution: &Distribution) -> Vec<Distribution> {
        if self.from.placement() == self.to.placement() {
            let end = !self.to.is_partial() && distribution != self.to;
            return if end { vec![self.to.clone()] } else { Vec::new() };
        }
        if distribution.placement() == self.to.placement() {
            return Vec::new();
        }
        let dims = self.to.sbp().len();
        (0..dims).fold(vec![self.to.clone()], |goals, dim| {
            let values = self.values.iter().filter(|sbp| !matches!(sbp, Sbp::Partial(_)));
            values.flat_map(|&sbp| goals.iter().map(move |goal| goal.with(dim, sbp))).collect()
        })
    }
}

/// The changes that lead to the end.
fn route(best: &Best, end: Distribution) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut to = end;
    while let Some((_, Some((change, from)))) = best.get(&to) {
        let before = from.clone();
        hops.push((*change, before.clone(), to));
        to = before;
    }
    hops.reverse();
    hops
}

impl Ord for Reached {
    /// The heap gives the greatest: the one that takes least.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_time = other.seconds.total_cmp(&self.seconds);
        by_time.then(other.changes.cmp(&self.changes)).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reached {}
