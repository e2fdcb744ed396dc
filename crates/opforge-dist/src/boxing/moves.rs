//! Who sends what to whom where parts are exchanged.

use opforge_core::Shape;

use crate::{Distribution, Region, Sbp};

/// The ranks of both placements, in order.
pub(super) fn union(from: &Distribution, to: &Distribution) -> Vec<usize> {
    let mut ranks: Vec<usize> = from.placement().ranks().iter().chain(to.placement().ranks()).copied().collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The part that one rank has and another needs.
pub(super) fn common(
    shape: &Shape,
    from: &Distribution,
    to: &Distribution,
    sender: usize,
    receiver: usize,
) -> Option<Region> {
    let source = from.placement().position(sender)?;
    let target = to.placement().position(receiver)?;
    Some(from.part(shape, source).intersection(&to.part(shape, target))).filter(|part| !part.is_empty())
}

/// As [`common`], if it is this sender that provides it, of those that have the same.
pub(super) fn provided(
    shape: &Shape,
    from: &Distribution,
    to: &Distribution,
    sender: usize,
    receiver: usize,
) -> Option<Region> {
    let source = from.placement().position(sender)?;
    let target = to.placement().position(receiver)?;
    let by_itself = from.placement().position(receiver);
    common(shape, from, to, sender, receiver).filter(|_| provider(from, source, by_itself, target) == source)
}

/// Of the positions that have the same part as `source`, the one that provides it: the receiver itself, or one after the other by receivers.
fn provider(from: &Distribution, source: usize, receiver: Option<usize>, number: usize) -> usize {
    let placement = from.placement();
    let mut same = vec![source];
    for (dim, _) in from.sbp().iter().enumerate().filter(|(_, sbp)| **sbp == Sbp::Broadcast) {
        same = same.into_iter().flat_map(|position| placement.along(position, dim)).collect();
    }
    same.sort_unstable();
    receiver.filter(|receiver| same.contains(receiver)).unwrap_or(same[number % same.len()])
}
