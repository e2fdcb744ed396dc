//! Calls as values.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use opforge_core::{DType, Error, Result, Shape};

use crate::Buffer;

/// How elements of several ranks become one. Integers wrap; NaN wins over numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Reduction {
    Sum,
    Product,
    Max,
    Min,
    /// Whether any element is not 0, of bool and u8.
    Any,
    /// Whether all elements are not 0, of bool and u8.
    All,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 6] =
        [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min, Reduction::Any, Reduction::All];

    /// The name: `"sum"`.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Product => "product",
            Reduction::Max => "max",
            Reduction::Min => "min",
            Reduction::Any => "any",
            Reduction::All => "all",
        }
    }

    /// Whether elements of a dtype can be reduced so. Floats of 8 bits cannot: they are only stored.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            _ if dtype.is_storage_only() => false,
            Reduction::Sum | Reduction::Product => dtype != DType::Bool,
            Reduction::Max | Reduction::Min => !dtype.is_complex(),
            Reduction::Any | Reduction::All => matches!(dtype, DType::Bool | DType::U8),
        }
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Reduction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Reduction::ALL.into_iter().find(|op| op.name() == text);
        named.ok_or_else(|| Error::value("reduction", "name", text, "sum, product, max, min, any, all"))
    }
}

/// What ranks do together. Counts are numbers of elements, one for each rank of the group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Collective {
    /// All ranks get the reduction of all buffers. In place: `recv` holds this rank's elements.
    AllReduce(Reduction),
    /// All ranks get the elements of all, one rank's after the other's.
    AllGather {
        /// How many each rank sends.
        counts: Vec<usize>,
    },
    /// Each rank gets its part of the reduction of all buffers.
    ReduceScatter {
        /// How elements become one.
        op: Reduction,
        /// How many each rank gets.
        counts: Vec<usize>,
    },
    /// Each rank sends a part to each.
    AllToAll {
        /// How many go to each rank; parts lie one after the other.
        send: Vec<usize>,
        /// How many come from each rank.
        recv: Vec<usize>,
    },
    /// All ranks get the root's elements. In place: `recv` holds the root's elements at the root.
    Broadcast {
        /// Whose elements.
        root: usize,
    },
    /// Elements go to one rank, which receives them with the same tag; in order for each tag.
    Send {
        /// To whom.
        to: usize,
        /// Tells messages between the same two ranks apart.
        tag: u16,
    },
    /// Elements come from one rank.
    Receive {
        /// From whom.
        from: usize,
        /// As the sender's.
        tag: u16,
    },
    /// All ranks have come when it is done.
    Barrier,
}

impl Collective {
    /// The name, as errors show it.
    pub const fn name(&self) -> &'static str {
        match self {
            Collective::AllReduce(_) => "all_reduce",
            Collective::AllGather { .. } => "all_gather",
            Collective::ReduceScatter { .. } => "reduce_scatter",
            Collective::AllToAll { .. } => "all_to_all",
            Collective::Broadcast { .. } => "broadcast",
            Collective::Send { .. } => "send",
            Collective::Receive { .. } => "receive",
            Collective::Barrier => "barrier",
        }
    }
}

/// Where a program makes a call: a place in Rust, or what a front end says.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Place {
    Rust(&'static Location<'static>),
    Text(Arc<str>),
}

impl Place {
    /// The caller's place.
    #[track_caller]
    pub fn here() -> Self {
        Place::Rust(Location::caller())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Rust(location) => location.fmt(f),
            Place::Text(text) => f.write_str(text),
        }
    }
}

/// A call with its buffers.
#[derive(Debug)]
pub struct Call {
    /// What is done.
    pub collective: Collective,
    /// The elements' dtype.
    pub dtype: DType,
    /// The shape that ranks compare: of the tensor that it is about, or the number of elements where ranks have equally many.
    pub shape: Shape,
    /// What this rank sends; empty for calls that are in place, receive only, or move nothing.
    pub send: Buffer,
    /// Where the result goes; empty for calls without one.
    pub recv: Buffer,
    /// Where the program calls it.
    pub place: Place,
}

impl Call {
    /// The bytes that a rank of a group gets from others. A guard's records do not count; an all-reduce counts as a reduce-scatter and an all-gather.
    pub fn received(&self, rank: usize, size: usize) -> usize {
        let others = size.saturating_sub(1);
        let from_others =
            |counts: &[usize]| counts.iter().sum::<usize>() - counts.get(rank).copied().unwrap_or_default();
        let elements = match &self.collective {
            Collective::AllReduce(_) => return 2 * (self.recv.len() - self.recv.len() / size.max(1)),
            Collective::Broadcast { root } => return if *root == rank { 0 } else { self.recv.len() },
            Collective::Receive { from, .. } => return if *from == rank { 0 } else { self.recv.len() },
            Collective::AllGather { counts } => from_others(counts),
            Collective::AllToAll { recv, .. } => from_others(recv),
            Collective::ReduceScatter { counts, .. } => counts.get(rank).copied().unwrap_or_default() * others,
            Collective::Send { .. } | Collective::Barrier => 0,
        };
        elements * self.dtype.size_in_bytes()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.collective.name())?;
        match &self.collective {
            Collective::AllReduce(op) | Collective::ReduceScatter { op, .. } => write!(f, "({op})")?,
            Collective::Broadcast { root } => write!(f, "(root {root})")?,
            Collective::Send { to, tag } => write!(f, "(to {to}, tag {tag})")?,
            Collective::Receive { from, tag } => write!(f, "(from {from}, tag {tag})")?,
            Collective::Barrier => return write!(f, " at {}", self.place),
            Collective::AllGather { .. } | Collective::AllToAll { .. } => {}
        }
        write!(f, " of {} {:?} at {}", self.dtype, self.shape.dims(), self.place)
    }
}
