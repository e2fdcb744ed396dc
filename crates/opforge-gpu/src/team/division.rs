//! How the lanes of a group share rows, and what of a row a lane has.

use opforge_core::DType;

use crate::code::Code;
use crate::kernel::LANES;
use crate::pack;
use crate::value::Value;

/// Groups that occupy a GPU.
pub(crate) const GROUPS: usize = 1024;

/// Lanes that exchange what they have without memory.
pub(super) const WARP: usize = 32;

/// Rows that are gone through: how many, of how many elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub count: usize,
    pub len: usize,
    /// Whether one element of a row lies beside the same element of the next row, rather than beside its own next.
    pub across: bool,
    /// Elements of a [pack](super::Pack), of which every row has a whole number.
    pub width: usize,
    /// Whether every row has `len` elements, rather than at most so many.
    pub equal: bool,
}

/// How a group's lanes are divided: so many rows, each by so many lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    pub rows: usize,
    pub lanes: usize,
    pub across: bool,
    /// Elements of a pack.
    pub width: usize,
    /// The packs of each lane; none where these are too many to be held in registers, or rows differ.
    pub held: Option<Packs>,
}

/// How many packs each lane of a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packs {
    pub count: usize,
    /// Whether each lane has its last one too.
    pub all: bool,
}

impl Rows {
    /// Rows of at most so many elements, taken one by one.
    pub fn new(count: usize, len: usize, across: bool) -> Self {
        Rows { count, len, across, width: 1, equal: false }
    }

    /// Rows whose elements lie one beside the other.
    pub fn dense(count: usize, len: usize) -> Self {
        Rows::new(count, len, false)
    }

    /// Rows of exactly so many elements, taken pack by pack.
    pub fn packed(count: usize, len: usize, width: usize) -> Self {
        Rows { count, len, across: false, width, equal: true }
    }

    /// Rows of contiguous tensors of these dtypes.
    pub fn contiguous(count: usize, len: usize, dtypes: impl Iterator<Item = DType>) -> Self {
        let steps = [len, 1];
        Rows::packed(count, len, pack::width(&[count, len], dtypes.map(|dtype| (dtype, &steps[..]))))
    }

    /// How lanes share them; none where a thread has a row of its own.
    pub(super) fn division(&self) -> Option<Division> {
        /// Rows that occupy a GPU with a thread each.
        const PLENTY: usize = 1 << 17;
        if self.across {
            let shared = self.len >= 16 && self.count < PLENTY;
            return shared.then_some(Division { rows: 32, lanes: LANES / 32, across: true, width: 1, held: None });
        }
        let lanes = self.lanes()?;
        Some(Division { rows: LANES / lanes, lanes, across: false, width: self.width, held: self.held_by(lanes) })
    }

    /// The lanes of a row whose elements lie one beside the other.
    fn lanes(&self) -> Option<usize> {
        /// Packs that are worth several lanes, and elements.
        const LEAST: [usize; 2] = [4, 32];
        /// Rows that occupy a GPU with a warp each, and the elements from which on fewer are shared by groups.
        const MANY: usize = 2048;
        const LONG: usize = 256;
        /// Elements of a lane, and packs at most, which memory is asked for at once; lanes whose packs are side by side.
        const ELEMENTS: usize = 16;
        const EACH: usize = 4;
        const BESIDE: usize = 4;
        let packs = self.len / self.width;
        let lanes = packs.div_ceil(EACH.min(ELEMENTS / self.width)).next_power_of_two().clamp(BESIDE, LANES);
        match self.len {
            _ if packs < LEAST[0] || (self.width == 1 && self.len < LEAST[1]) => None,
            LONG.. if self.count < MANY => Some(LANES),
            _ if self.held_by(WARP).is_some() => Some(lanes.min(WARP)),
            1024.. if self.held_by(LANES).is_some() => Some(lanes),
            1024.. => Some(LANES),
            _ => Some(WARP),
        }
    }

    /// The packs of each of so many lanes, if these can hold them.
    fn held_by(&self, lanes: usize) -> Option<Packs> {
        /// Registers for the elements of a row, and the packs that are loaded at once.
        const REGISTERS: usize = 32;
        const MOST: usize = 8;
        let packs = self.len / self.width;
        let count = packs.div_ceil(lanes);
        let held = self.equal && count <= MOST && count * self.width <= REGISTERS;
        held.then_some(Packs { count, all: packs == count * lanes })
    }

    /// How many groups they occupy; of single threads, how many groups these make.
    pub fn groups(&self) -> usize {
        self.count.div_ceil(self.division().map_or(LANES, |division| division.rows))
    }
}

impl Division {
    /// For every lane. Those of rows that lie across have what they found in memory of the group, so that they wait for one another.
    pub fn meet<'a>(&self, code: &'a Code, body: impl FnOnce(Value<'a>)) {
        if self.across { code.lanes(LANES, body) } else { code.alone(body) }
    }

    /// The lane's row in the group, its number among the row's lanes, and the row's first place in arrays of the group.
    pub fn share<'a>(&self, code: &'a Code, lane: Value<'a>) -> [Value<'a>; 3] {
        match *self {
            Division { rows: 1, .. } => [code.index(0), lane, code.index(0)],
            Division { rows, across: true, .. } => [lane % rows, lane / rows, lane % rows],
            Division { lanes, .. } => [lane / lanes, lane % lanes, lane / lanes * lanes],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Packs, Rows};

    #[test]
    fn lanes_share_rows_where_neighbours_in_memory_are_neighbours() {
        let lanes = |count, len, across| Rows::new(count, len, across).division().map(|of| (of.rows, of.lanes));
        assert_eq!(lanes(1, 5000, false), Some((1, 256)));
        assert_eq!(lanes(10_000, 5000, false), Some((1, 256)));
        assert_eq!(lanes(10_000, 300, false), Some((8, 32)));
        assert_eq!(lanes(1000, 300, false), Some((1, 256)));
        assert_eq!(lanes(1000, 8, false), None);
        assert_eq!(lanes(1000, 300, true), Some((32, 8)));
        assert_eq!(lanes(1 << 20, 300, true), None);
    }

    /// The lanes of a row, the packs of each, and whether all lanes have all of them.
    fn held(count: usize, len: usize, width: usize) -> Option<(usize, Option<(usize, bool)>)> {
        let packs = |Packs { count, all }| (count, all);
        Rows::packed(count, len, width).division().map(|of| (of.lanes, of.held.map(packs)))
    }

    #[test]
    fn rows_are_held_by_as_few_lanes_as_have_registers() {
        assert_eq!(held(1 << 19, 128, 4), Some((8, Some((4, true)))));
        assert_eq!(held(1 << 19, 16, 4), Some((4, Some((1, true)))));
        assert_eq!(held(1 << 19, 24, 4), Some((4, Some((2, false)))));
        assert_eq!(held(1 << 19, 8, 4), None);
        assert_eq!(held(8192, 1024, 4), Some((32, Some((8, true)))));
        assert_eq!(held(8192, 1024, 8), Some((32, Some((4, true)))));
        assert_eq!(held(8192, 1100, 4), Some((128, Some((3, false)))));
        assert_eq!(held(8192, 2048, 8), Some((128, Some((2, true)))));
        assert_eq!(held(8192, 4096, 8), Some((256, Some((2, true)))));
        assert_eq!(held(512, 768, 4), Some((256, Some((1, false)))));
        assert_eq!(held(512, 8192, 4), Some((256, Some((8, true)))));
        assert_eq!(held(512, 8196, 4), Some((256, None)));
        assert_eq!(held(8192, 101, 1), Some((32, Some((4, false)))));
        assert_eq!(held(8192, 601, 1), Some((32, None)));
    }
}
