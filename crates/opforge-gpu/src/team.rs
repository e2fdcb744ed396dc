//! Sums and the like over the elements of rows: each row by one thread, or by a team of lanes of a group, which has room for several teams.

use opforge_core::DType;

use crate::code::Code;
use crate::kernel::LANES;
use crate::value::{Array, Value, Var};

/// Groups that occupy a GPU.
pub(crate) const GROUPS: usize = 1024;

/// Rows that are gone through: how many, of how many elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub count: usize,
    pub len: usize,
    /// Whether one element of a row lies beside the same element of the next row, rather than beside its own next.
    pub across: bool,
}

/// How a group's lanes are divided: so many rows, each by so many lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Division {
    rows: usize,
    lanes: usize,
    across: bool,
}

impl Rows {
    /// Rows whose elements lie one beside the other.
    pub fn dense(count: usize, len: usize) -> Self {
        Rows { count, len, across: false }
    }

    /// How lanes share them; none where a thread has a row of its own.
    fn division(&self) -> Option<Division> {
        /// Rows that occupy a GPU with a thread each.
        const PLENTY: usize = 1 << 17;
        let of = |rows, across| Some(Division { rows, lanes: LANES / rows, across });
        match (self.across, self.len) {
            (false, ..32) | (true, ..16) => None,
            (true, _) if self.count >= PLENTY => None,
            (true, _) => of(32, true),
            (false, 1024..) => of(1, false),
            (false, 256..) if self.count < 2048 => of(1, false),
            (false, _) => of(8, false),
        }
    }

    /// How many groups they occupy; of single threads, how many groups these make.
    pub fn groups(&self) -> usize {
        self.count.div_ceil(self.division().map_or(LANES, |division| division.rows))
    }
}

/// A row as its threads see it.
pub(crate) struct Line<'a, T> {
    /// Its number.
    pub row: Value<'a>,
    /// Where it is, as the form has it.
    pub at: T,
    pub len: Value<'a>,
    /// Where in arrays of the group the team's result is.
    slot: Value<'a>,
}

/// Who goes through the elements of a row. `locate` gives where a row is, and its length.
pub(crate) struct Team<'c, 'a, T> {
    code: &'a Code,
    locate: &'c dyn Fn(Value<'a>) -> (T, Value<'a>),
    share: Share<'a, T>,
}

/// What a team has of the rows.
enum Share<'a, T> {
    Thread(Line<'a, T>),
    Lanes { division: Division, group: Value<'a>, rows: Value<'a> },
}

/// What a team has found; every thread of it can have it.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Here(Value<'a>),
    InGroup(Array<'a>),
}

impl<'a> Found<'a> {
    /// What was found of a line.
    pub fn of<T>(self, line: &Line<'a, T>) -> Value<'a> {
        match self {
            Found::Here(value) => value,
            Found::InGroup(array) => array.load(line.slot),
        }
    }
}

impl Code {
    /// For every row a team: `locate` gives where a row is, and how many elements it has, at most `rows.len`.
    pub fn teams<'a, T>(
        &'a self,
        rows: Rows,
        locate: impl Fn(Value<'a>) -> (T, Value<'a>),
        body: impl FnOnce(&Team<'_, 'a, T>),
    ) {
        let (code, locate) = (self, &locate as &dyn Fn(Value<'a>) -> (T, Value<'a>));
        let Some(division) = rows.division() else {
            return self.each(rows.count, |row| {
                let (at, len) = locate(row);
                body(&Team { code, locate, share: Share::Thread(Line { row, at, len, slot: self.index(0) }) });
            });
        };
        let count = self.size(rows.count);
        self.groups(rows.count.div_ceil(division.rows), |group| {
            body(&Team { code, locate, share: Share::Lanes { division, group, rows: count } });
        });
    }
}

impl<'a, T> Team<'_, 'a, T> {
    /// What each lane does that has a row: it is given that, and its number among the row's lanes.
    fn lanes(&self, division: Division, group: Value<'a>, rows: Value<'a>, body: impl FnOnce(&Line<'a, T>, Value<'a>)) {
        let code = self.code;
        division.meet(code, |lane| {
            let (member, own, slot) = match division {
                Division { rows: 1, .. } => (code.index(0), lane, code.index(0)),
                Division { rows, across: true, .. } => (lane % rows, lane / rows, lane % rows),
                Division { lanes, .. } => (lane / lanes, lane % lanes, lane / lanes * lanes),
            };
            let row = group * division.rows + member;
            let within = || {
                let (at, len) = (self.locate)(row);
                body(&Line { row, at, len, slot }, own);
            };
            if division.rows == 1 { within() } else { code.when(row.lt(rows), within) }
        });
    }

    /// A function of lines, whose types are the team's.
    pub fn number<N>(&self, of: impl Fn(&Line<'a, T>) -> N) -> impl Fn(&Line<'a, T>) -> N {
        of
    }

    /// A function of lines' elements.
    pub fn element<N>(&self, of: impl Fn(&Line<'a, T>, Value<'a>) -> N) -> impl Fn(&Line<'a, T>, Value<'a>) -> N {
        of
    }

    /// For every element of the row, in any order.
    pub fn each(&self, body: impl FnOnce(&Line<'a, T>, Value<'a>)) {
        match &self.share {
            Share::Thread(line) => self.code.repeat(line.len, |i| body(line, i)),
            &Share::Lanes { division, group, rows } => self.lanes(division, group, rows, |line, own| {
                self.turns(division, line, own, |i| body(line, i));
            }),
        }
    }

    /// The elements of one lane: every so many-th.
    fn turns(&self, division: Division, line: &Line<'a, T>, own: Value<'a>, body: impl FnOnce(Value<'a>)) {
        let turns = (line.len + (division.lanes - 1) - own) / division.lanes;
        self.code.repeat(turns, |turn| body(turn * division.lanes + own));
    }

    /// Once for the row.
    pub fn once(&self, body: impl FnOnce(&Line<'a, T>)) {
        match &self.share {
            Share::Thread(line) => body(line),
            &Share::Lanes { division, group, rows } => self.lanes(division, group, rows, |line, own| {
                self.code.when(own.equals(self.code.index(0)), || body(line));
            }),
        }
    }

    /// All terms combined: `combine` is associative and commutative, and `identity` changes nothing.
    pub fn fold(
        &self,
        identity: Value<'a>,
        term: impl FnOnce(&Line<'a, T>, Value<'a>) -> Value<'a>,
        combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
    ) -> Found<'a> {
        let [found] = self.folds([identity], |line, i| [term(line, i)], combine);
        found
    }

    /// As [`Team::fold`], of several terms that an element has, in one pass.
    fn folds<const N: usize>(
        &self,
        identities: [Value<'a>; N],
        terms: impl FnOnce(&Line<'a, T>, Value<'a>) -> [Value<'a>; N],
        combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
    ) -> [Found<'a>; N] {
        let code = self.code;
        let add = |all: [Var<'a>; N], terms: [Value<'a>; N]| {
            all.into_iter().zip(terms).for_each(|(all, term)| all.set(combine(all.get(), term)));
        };
        match &self.share {
            Share::Thread(line) => {
                let all = identities.map(|identity| code.var(identity));
                code.repeat(line.len, |i| add(all, terms(line, i)));
                all.map(|all| Found::Here(all.get()))
            }
            &Share::Lanes { division, group, rows } => {
                let arrays = identities.map(|identity| code.shared(identity.dtype(), LANES));
                self.lanes(division, group, rows, |line, own| {
                    let all = identities.map(|identity| code.var(identity));
                    self.turns(division, line, own, |i| add(all, terms(line, i)));
                    let place = division.place(line.slot, own);
                    arrays.into_iter().zip(all).for_each(|(array, all)| array.store(place, all.get()));
                });
                arrays.into_iter().for_each(|array| self.combined(division, array, &combine));
                arrays.map(Found::InGroup)
            }
        }
    }

    /// Combines what the lanes of each row have found, pair by pair.
    fn combined(&self, division: Division, array: Array<'a>, combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>) {
        let code = self.code;
        let mut half = division.lanes / 2;
        while half > 0 {
            let apart = if division.across { half * division.rows } else { half };
            let pair = |lane| array.store(lane, combine(array.load(lane), array.load(lane + apart)));
            if division.across || division.rows == 1 {
                code.lanes(apart, pair);
            } else {
                division.meet(code, |lane| {
                    code.when((lane % division.lanes).lt(code.index(half)), || pair(lane));
                });
            }
            half /= 2;
        }
    }

    /// The sum of all terms, in a float dtype.
    pub fn sum(&self, dtype: DType, term: impl FnOnce(&Line<'a, T>, Value<'a>) -> Value<'a>) -> Found<'a> {
        self.fold(self.code.constant(0.0, dtype), term, |a, b| a + b)
    }

    /// Sums of several terms that an element has, in a float dtype.
    pub fn sums<const N: usize>(
        &self,
        dtype: DType,
        terms: impl FnOnce(&Line<'a, T>, Value<'a>) -> [Value<'a>; N],
    ) -> [Found<'a>; N] {
        self.folds([(); N].map(|()| self.code.constant(0.0, dtype)), terms, |a, b| a + b)
    }
}

impl<'a, T> Line<'a, T> {
    /// The elements of the row as a float.
    pub fn count(&self, dtype: DType) -> Value<'a> {
        self.len.to(dtype)
    }
}

impl Division {
    /// For every lane; then those of each row wait for one another.
    fn meet<'a>(&self, code: &'a Code, body: impl FnOnce(Value<'a>)) {
        if self.lanes <= 32 && !self.across { code.warps(body) } else { code.lanes(LANES, body) }
    }

    /// Where in arrays of the group a lane's own result is.
    fn place<'a>(&self, slot: Value<'a>, own: Value<'a>) -> Value<'a> {
        if self.across { slot + own * self.rows } else { slot + own }
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn lanes_share_rows_where_neighbours_in_memory_are_neighbours() {
        let lanes = |count, len, across| Rows { count, len, across }.division().map(|of| (of.rows, of.lanes));
        assert_eq!(lanes(1, 5000, false), Some((1, 256)));
        assert_eq!(lanes(10_000, 5000, false), Some((1, 256)));
        assert_eq!(lanes(10_000, 300, false), Some((8, 32)));
        assert_eq!(lanes(1000, 300, false), Some((1, 256)));
        assert_eq!(lanes(1000, 8, false), None);
        assert_eq!(lanes(1000, 300, true), Some((32, 8)));
        assert_eq!(lanes(1 << 20, 300, true), None);
    }
}
