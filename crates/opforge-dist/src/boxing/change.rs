//! The changes that boxing is made of.

use std::fmt;

use crate::{Distribution, Reduction, Sbp};

/// One change of a distribution: along one dimension of the mesh, among the ranks that differ along it only, or from one placement to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Partial to broadcast.
    AllReduce {
        /// The mesh's dimension.
        dim: usize,
        /// How partial values become one.
        op: Reduction,
    },
    /// Partial to split.
    ReduceScatter {
        /// The mesh's dimension.
        dim: usize,
        /// How partial values become one.
        op: Reduction,
        /// The tensor's dimension that is split.
        axis: usize,
    },
    /// Split to broadcast.
    AllGather {
        /// The mesh's dimension.
        dim: usize,
        /// The tensor's dimension that was split.
        axis: usize,
    },
    /// Split along one dimension of the tensor to split along another.
    AllToAll {
        /// The mesh's dimension.
        dim: usize,
        /// The tensor's dimension that was split.
        from: usize,
        /// The tensor's dimension that is split.
        to: usize,
    },
    /// Broadcast to split: each rank keeps its part.
    Slice {
        /// The mesh's dimension.
        dim: usize,
        /// The tensor's dimension that is split.
        axis: usize,
    },
    /// Broadcast to partial: the first rank keeps its value, the others get what changes nothing; for max, min, any and all, everyone keeps it.
    Mask {
        /// The mesh's dimension.
        dim: usize,
        /// How partial values become one.
        op: Reduction,
    },
    /// Split to partial: around each part comes what changes nothing.
    Pad {
        /// The mesh's dimension.
        dim: usize,
        /// The tensor's dimension that was split.
        axis: usize,
        /// How partial values become one.
        op: Reduction,
    },
    /// Every rank of a placement gets what it lacks of its part from ranks that have it. Nothing is partial before or after.
    Move,
}

impl Change {
    /// The mesh's dimension.
    pub fn dim(&self) -> Option<usize> {
        match *self {
            Change::AllReduce { dim, .. } | Change::ReduceScatter { dim, .. } | Change::AllGather { dim, .. } => {
                Some(dim)
            }
            Change::AllToAll { dim, .. } | Change::Slice { dim, .. } => Some(dim),
            Change::Mask { dim, .. } | Change::Pad { dim, .. } => Some(dim),
            Change::Move => None,
        }
    }

    /// Whether each rank does it by itself.
    pub fn is_local(&self) -> bool {
        matches!(self, Change::Slice { .. } | Change::Mask { .. } | Change::Pad { .. })
    }

    /// The change of one dimension of a mesh, if one change does that. Later dimensions that split the same dimension of the tensor, or are partial in
    /// another way, are in the way: theirs is the inner part, or the inner value.
    pub(super) fn along(from: &Distribution, dim: usize, to: Sbp) -> Option<Change> {
        let later = &from.sbp()[dim + 1..];
        let free = |sbp: Sbp| match sbp {
            Sbp::Broadcast => true,
            Sbp::Split(_) => !later.contains(&sbp),
            Sbp::Partial(_) => later.iter().all(|&other| other == sbp || !matches!(other, Sbp::Partial(_))),
        };
        let before = from.sbp()[dim];
        if before == to || !free(before) || !free(to) {
            return None;
        }
        match (before, to) {
            (Sbp::Partial(op), Sbp::Broadcast) => Some(Change::AllReduce { dim, op }),
            (Sbp::Partial(op), Sbp::Split(axis)) => Some(Change::ReduceScatter { dim, op, axis }),
            (Sbp::Split(axis), Sbp::Broadcast) => Some(Change::AllGather { dim, axis }),
            (Sbp::Split(from), Sbp::Split(to)) => Some(Change::AllToAll { dim, from, to }),
            (Sbp::Split(axis), Sbp::Partial(op)) => Some(Change::Pad { dim, axis, op }),
            (Sbp::Broadcast, Sbp::Split(axis)) => Some(Change::Slice { dim, axis }),
            (Sbp::Broadcast, Sbp::Partial(op)) => Some(Change::Mask { dim, op }),
            _ => None,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::AllReduce { dim, op } => write!(f, "all_reduce({op}) along {dim}"),
            Change::ReduceScatter { dim, op, axis } => write!(f, "reduce_scatter({op}, axis {axis}) along {dim}"),
            Change::AllGather { dim, axis } => write!(f, "all_gather(axis {axis}) along {dim}"),
            Change::AllToAll { dim, from, to } => write!(f, "all_to_all(axis {from} to {to}) along {dim}"),
            Change::Slice { dim, axis } => write!(f, "slice(axis {axis}) along {dim}"),
            Change::Mask { dim, op } => write!(f, "mask({op}) along {dim}"),
            Change::Pad { dim, axis, op } => write!(f, "pad({op}, axis {axis}) along {dim}"),
            Change::Move => f.write_str("move"),
        }
    }
}
