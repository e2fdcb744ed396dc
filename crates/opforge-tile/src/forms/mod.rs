//! Forms: what operators compute beyond functions of single elements, as plain data that each backend reads. Inputs and outputs are numbered as the
//! operator's; indices count from 0, and `out[.., i, ..]` has `i` along the axis that is spoken of.

mod dense;
mod distances;
mod fourier;
mod index;
mod network;
mod norm;
mod portion;
mod sample;
mod window;

use opforge_core::{Layout, Scalar};
use opforge_macros::Attributes;

pub use dense::Dense;
pub use distances::Distances;
pub use fourier::{Fourier, Spectrum};
pub use index::{Combine, Index, Indices, Special};
pub use network::{Attention, CellKind, Recurrent};
pub use norm::{Normalize, Over};
pub use portion::{Portion, Segment};
pub use sample::{Between, Outside, Sampled, Sampling};
pub use window::{
    Average, Divisor, Filter, Geometry, MAX_SPATIAL, Part, Stretch, Stretches, Window, Windowed, Windows,
};

/// Which element is sought. NaN is more extreme than any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Extreme {
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// The place along an axis of the first of the most extreme elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Search {
    /// What is sought.
    pub extreme: Extreme,
    /// The axis, which goes or stays with length 1.
    pub axis: usize,
}

/// The variance of floats over axes, or its root: the sum of squared distances from the mean over `count - correction`. It does not cancel, and is finite
/// wherever it can be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spread {
    /// The axes, which go or stay with length 1.
    pub axes: Vec<usize>,
    /// What the count is lessened by: 1 estimates a population's variance from a sample.
    pub correction: Scalar,
    /// Whether the standard deviation is meant, the variance's root.
    pub root: bool,
}

/// What a running result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Running {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// `log(e^a + e^b + ..)`; floats only.
    LogSumExp,
    /// The place of the last of the most extreme elements, or of the first NaN.
    Place(Extreme),
}

/// Running results: `out[.., i, ..]` is that of `x[.., 0, ..]` to `x[.., i, ..]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scan {
    /// Which result.
    pub running: Running,
    /// The axis that is walked along.
    pub axis: usize,
}

/// A place among sorted elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Rank {
    /// That with as many elements before it as the number says.
    At(usize),
    /// The middle, the lower one of two, of the elements that are not NaN; the first where all are.
    MiddleNumber,
}

/// Places of elements in sorted order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Where the elements along an axis come from if they are sorted; equal ones keep their order, and NaN is the greatest.
    Order {
        /// The axis.
        axis: usize,
        /// Whether the greatest comes first.
        descending: bool,
    },
    /// Where the elements come from that [`Sort::Order`], ascending, has at a place and at those after it: as many as the output has along the axis.
    Place {
        /// The axis.
        axis: usize,
        /// The place.
        rank: Rank,
    },
    /// Where the second input's elements would stand in the first's lines, which are sorted: of equal ones before the first, or after the last if `right`.
    Search {
        /// Which side of equal ones.
        right: bool,
    },
}

/// Products of matrices. f16 and bf16 are summed in f32, and results rounded once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Contract {
    /// Of `[.., m, k]` and `[.., k, n]`, whose leading dimensions are broadcast.
    Product,
    /// Of `[.., k]` and the transpose of `[n, k]`.
    Linear {
        /// Whether a third input, `[n]`, is added.
        bias: bool,
    },
}

/// Elements moved as they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Move {
    /// Each to the same index.
    Copy,
    /// All inputs one after the other.
    Concatenate {
        /// Along which axis.
        axis: usize,
    },
    /// Each to the index as far from the other end.
    Flip {
        /// Along which axes.
        axes: Vec<usize>,
    },
    /// Each to an index greater by `before`, and to the indices before and after them what lies beyond the edges.
    Extend {
        /// How many along each axis.
        before: Vec<usize>,
        /// What lies beyond the edges.
        beyond: Beyond,
    },
    /// Those of matrices with `column - row <= diagonal` if `lower`, else `>= diagonal`; zeros elsewhere.
    Triangle {
        /// Which side stays.
        lower: bool,
        /// How far above the main diagonal.
        diagonal: i64,
    },
    /// The last input's to a part of the output; the first input's are elsewhere, or zeros if there is only one.
    Overlay {
        /// The part, within the output's memory.
        place: Layout,
    },
}

/// What lies beyond the edges of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum Beyond {
    /// A mirror's image, the edge in the mirror.
    Reflected,
    /// The edge again and again.
    Repeated,
    /// The other end.
    Wrapped,
}

impl Beyond {
    /// Which of `len` elements lies at place `i`, which may be beyond them; none where it is too far.
    #[inline(always)]
    pub fn source(self, i: i64, len: i64) -> Option<i64> {
        let place = match self {
            Beyond::Reflected if i < 0 => -i,
            Beyond::Reflected if i >= len => 2 * (len - 1) - i,
            Beyond::Repeated if len > 0 => i.clamp(0, len - 1),
            Beyond::Wrapped if i < 0 => i + len,
            Beyond::Wrapped if i >= len => i - len,
            _ => i,
        };
        (0..len).contains(&place).then_some(place)
    }
}

/// Numbers drawn at random, or those of a part of the tensor: each depends on its place in the whole alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Draws {
    /// What is drawn.
    pub random: Random,
    /// The part, where it is not the whole.
    pub portion: Option<Portion>,
}

impl From<Random> for Draws {
    fn from(random: Random) -> Self {
        Draws { random, portion: None }
    }
}

/// Numbers drawn at random. The first input is the key, `[seed, offset]` in u64. Of a stream of Philox4x32-10 with the seed as its key, and as its counter a number of 64
/// bits below the offset, 16 blocks make a group; a group's draws take all first words of its blocks, then all second ones, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Random {
    /// `low + (high - low) u`, never `high`: u has 24 bits of a word, or for f64 53 of two.
    Uniform {
        /// The least.
        low: Scalar,
        /// The end.
        high: Scalar,
    },
    /// By the transform of Box and Muller: of two words the logarithm and the angle, or for f64 of four.
    Normal {
        /// The mean.
        mean: Scalar,
        /// The standard deviation.
        std: Scalar,
    },
    /// 1 where a word is below `p 2^32`, else 0.
    Bernoulli {
        /// The probability of 1.
        p: Scalar,
    },
    /// `low + floor((high - low) u)`, u of two words.
    Integers {
        /// The least.
        low: i64,
        /// The end.
        high: i64,
    },
    /// Numbers of events, of rates that are the second input.
    Poisson,
    /// The second input's elements, each times `1 / keep` with this probability, else times 0: the draws are Bernoulli's.
    Dropout {
        /// The probability that an element stays.
        keep: Scalar,
    },
}
