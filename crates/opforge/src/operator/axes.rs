//! Axis maps: which dimensions of inputs and outputs are the same axis, and what splitting it means.
//!
//! As in einsum, axes have names. Splitting, fusion and distribution derive from the maps, and tests check them by splitting every sample. Operators
//! that hold global shapes run on parts too: what they lower to follows from the outputs' metas (`dispatch/prepared.rs`), and views are told the
//! shape of their part.

use smallvec::SmallVec;

use crate::Meta;

/// Names one axis across an operator's inputs and outputs, like a letter of an einsum.
pub type Axis = u8;

/// What may happen along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Independent: equal parts of the inputs give equal parts of the outputs.
    Map,
    /// Summed over: parts of the inputs give outputs whose sum is the whole output. Outputs with the axis are independent along it.
    Sum,
    /// As [`Role::Map`], where elements depend on their place in the whole, as drawn ones do: [`Operator::lower_part`](super::Operator::lower_part) tells what parts have.
    Placed,
    /// As [`Role::Sum`], of what is looked up along the axis: [`Operator::lower_part`](super::Operator::lower_part) gives zeros for what other parts have.
    Lookup,
    /// As [`Role::Sum`], where inputs without the axis are summands, as the bias of a product is: one part has them, the others zeros.
    SumWith,
    /// Parts of the inputs give outputs whose product is the whole output.
    Product,
    /// As [`Role::Product`], with the maximum in place of the product.
    Max,
    /// As [`Role::Product`], with the minimum.
    Min,
    /// As [`Role::Product`], with `or`.
    Any,
    /// As [`Role::Product`], with `and`.
    All,
    /// Independent in blocks: dimensions of this name may differ in length, and parts correspond where each of the lengths is divided evenly.
    Blocks,
    /// Needed whole: not to be split.
    Whole,
}

impl Role {
    /// Whether parts of the inputs give outputs that are to be combined.
    pub fn combines(self) -> bool {
        !matches!(self, Role::Map | Role::Placed | Role::Blocks | Role::Whole)
    }

    /// Whether parts are to know where they lie in the whole.
    pub fn needs_place(self) -> bool {
        matches!(self, Role::Placed | Role::Lookup)
    }
}

/// Of which inputs an operator's outputs are linear functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Linearity {
    /// Of none.
    None,
    /// Of all together, as `a + b`.
    Jointly,
    /// Of each while the others stay, as `a b`.
    InEach,
    /// Of the first while the others stay, as `a / b`.
    InFirst,
}

/// How axes flow from an operator's inputs to its outputs.
///
/// Each tensor lists an axis name for each of its dimensions; `None` marks a dimension that takes no part, such as a broadcast one of length
/// 1. Splitting across devices, batching and tiling all derive from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisMap {
    /// The axis names of each input's dimensions.
    pub inputs: Vec<SmallVec<[Option<Axis>; 6]>>,
    /// The axis names of each output's dimensions.
    pub outputs: Vec<SmallVec<[Option<Axis>; 6]>>,
    /// The role of each axis name.
    pub roles: SmallVec<[Role; 6]>,
}

impl AxisMap {
    /// Elementwise with broadcasting: dimensions align at the end, all independent.
    pub fn pointwise(inputs: &[&Meta], output_rank: usize) -> Self {
        Self::aligned(inputs, output_rank, 1)
    }

    /// As [`AxisMap::pointwise`] with several outputs of one rank.
    pub fn aligned(inputs: &[&Meta], output_rank: usize, outputs: usize) -> Self {
        let full: SmallVec<[usize; 6]> = (0..output_rank)
            .map(|d| inputs.iter().filter_map(|m| aligned_len(m, output_rank, d)).max().unwrap_or(1))
            .collect();
        let names = |m: &&Meta| {
            let lead = output_rank - m.rank();
            (0..m.rank()).map(|d| (m.dims()[d] == full[lead + d]).then_some((lead + d) as Axis)).collect()
        };
        AxisMap {
            inputs: inputs.iter().map(names).collect(),
            outputs: vec![(0..output_rank).map(|d| Some(d as Axis)).collect(); outputs],
            roles: SmallVec::from_elem(Role::Map, output_rank),
        }
    }

    /// From an einsum-like text such as `"mk,kn->mn"` with the role of each letter that is not independent: `[('k', Role::Sum)]`. A `.` stands
    /// for a dimension that takes no part.
    pub fn letters(text: &str, special: &[(char, Role)]) -> Self {
        let (left, right) = text.split_once("->").expect("an arrow in the axis text");
        let mut names: Vec<char> = Vec::new();
        let mut side = |s: &str| -> Vec<SmallVec<[Option<Axis>; 6]>> {
            let mut axis = |c: char| {
                (c != '.').then(|| match names.iter().position(|&n| n == c) {
                    Some(i) => i as Axis,
                    None => {
                        names.push(c);
                        (names.len() - 1) as Axis
                    }
                })
            };
            s.split(',').map(|part| part.chars().map(&mut axis).collect()).collect()
        };
        let (inputs, outputs) = (side(left), side(right));
        let role = |c: &char| special.iter().find(|(s, _)| s == c).map_or(Role::Map, |s| s.1);
        AxisMap { inputs, outputs, roles: names.iter().map(role).collect() }
    }

    /// The same map with other roles for some axes.
    pub fn with_roles(mut self, axes: &[usize], role: Role) -> Self {
        for &a in axes {
            self.roles[a] = role;
        }
        self
    }

    /// With the first input only.
    pub fn first_input(mut self) -> Self {
        self.inputs.truncate(1);
        self
    }

    /// Without these axes in the outputs, as a reduction that drops them.
    pub fn dropping(mut self, axes: &[usize]) -> Self {
        for output in &mut self.outputs {
            output.retain(|name| name.is_none_or(|a| !axes.contains(&(a as usize))));
        }
        self
    }
}

fn aligned_len(meta: &Meta, rank: usize, d: usize) -> Option<usize> {
    d.checked_sub(rank - meta.rank()).map(|d| meta.dims()[d])
}
