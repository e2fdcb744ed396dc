//! Reading and writing at integer indices.

use opforge_macros::Attributes;

use super::Segment;

/// Elements at places that integers name: read, or written over a copy of the first input. Inputs are that input, the indices and, for writing, what is
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// Elements read: `out[.., i, ..] = x[.., ids[.., i, ..], ..]`.
    Gather {
        /// Along which axis.
        axis: usize,
        /// What indices mean.
        indices: Indices,
    },
    /// Elements written to, in order: `out[.., ids[.., i, ..], ..]` from `src[.., i, ..]`.
    Scatter {
        /// Along which axis.
        axis: usize,
        /// What indices mean.
        indices: Indices,
        /// How they meet what is there.
        how: Combine,
    },
    /// Slices read: `out[.., i, ..] = x[.., ids[i], ..]`, where `i` may have several dimensions, or none.
    Select {
        /// Along which axis.
        axis: usize,
        /// What indices mean.
        indices: Indices,
    },
    /// Slices added: `out[.., ids[i], ..] += src[.., i, ..]`.
    AddSlices {
        /// Along which axis.
        axis: usize,
        /// What indices mean.
        indices: Indices,
    },
    /// The places of true elements in row-major order, `[count, rank]`; there is no second input.
    NonZero,
    /// The numbers `0..m`, i64, after exchanges: of i32 `[.., k]`, counted from 1, the place that step `i` exchanges place `i` with; there is no
    /// second input.
    Exchange,
    /// Slices along several neighbouring axes at once, read by as many vectors: `out[.., i, ..] = x[.., ids0[i], ids1[i], ..]`. Negative indices count
    /// from the end.
    Get {
        /// The first of the axes.
        axis: usize,
    },
    /// The same written to, in order: the last of several stays.
    Put {
        /// The first of the axes.
        axis: usize,
        /// Whether they are added instead.
        adds: bool,
    },
}

/// How what is written meets what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Combine {
    /// The last of several stays.
    Set,
    /// Their sum; integers wrap, and a sum of truth values is whether any is true.
    Add,
    /// Their product; integers wrap.
    Multiply,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
}

/// What indices into an axis mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Indices {
    /// Which mean something special.
    pub special: Special,
    /// The longer axis that they count along, if the axis is a part of one: where they name a place outside of the part, nothing is there, as for [`Special::LargestSkips`].
    pub part: Option<Segment>,
}

impl From<Special> for Indices {
    fn from(special: Special) -> Self {
        Indices { special, part: None }
    }
}

/// Which indices mean something special. Any other that names no place is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Special {
    /// None.
    None,
    /// The largest value of the dtype: nothing is there. Reads give zero, writes are left out.
    LargestSkips,
    /// Negative ones, which count from the axis' end.
    NegativeFromEnd,
}
