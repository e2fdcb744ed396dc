//! Sums and the like over the elements of rows: each row by one thread, or by a team of lanes of a group, which has room for several teams.

mod division;
mod fold;
mod packs;

use opforge_core::DType;

use crate::code::Code;
use crate::kernel::LANES;
use crate::value::Value;

use division::{Division, WARP};
pub(crate) use division::{GROUPS, Rows};
pub(crate) use fold::Found;
pub(crate) use packs::{Computed, Held, Pack, mapped, zipped};

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
    /// A group's, of which there are so many rows, unless all groups are whole.
    Lanes {
        division: Division,
        group: Value<'a>,
        rows: Option<Value<'a>>,
    },
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
        let count = (!rows.count.is_multiple_of(division.rows)).then(|| self.size(rows.count));
        self.groups(rows.count.div_ceil(division.rows), |group| {
            body(&Team { code, locate, share: Share::Lanes { division, group, rows: count } });
            if division.lanes > WARP {
                // All warps have read what was found, which the next row's takes the place of.
                self.lanes(LANES, |_| {});
            }
        });
    }
}

impl<'a, T> Team<'_, 'a, T> {
    /// What each lane does that has a row: it is given that, and its number among the row's lanes.
    fn lanes(
        &self,
        division: Division,
        group: Value<'a>,
        rows: Option<Value<'a>>,
        body: impl FnOnce(&Line<'a, T>, Value<'a>),
    ) {
        let code = self.code;
        division.meet(code, |lane| {
            let [member, own, slot] = division.share(code, lane);
            let row = group * division.rows + member;
            let within = || {
                let (at, len) = (self.locate)(row);
                body(&Line { row, at, len, slot }, own);
            };
            match rows {
                Some(rows) => code.when(row.lt(rows), within),
                None => within(),
            }
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

    /// A function of lines' packs.
    pub fn pack<N>(&self, of: impl Fn(&Line<'a, T>, &Pack<'a>) -> N) -> impl Fn(&Line<'a, T>, &Pack<'a>) -> N {
        of
    }

    /// A number of the row, which its threads compute once.
    pub fn known(&self, of: impl Fn(&Line<'a, T>) -> Value<'a>) -> Found<'a> {
        match &self.share {
            Share::Thread(line) => Found::Here(of(line)),
            &Share::Lanes { division, group, rows } => {
                let mut found = None;
                self.lanes(division, group, rows, |line, _| found = Some(self.code.lane_var_of(of(line))));
                Found::InLanes(found.expect("the body is written once"))
            }
        }
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
}

impl<'a, T> Line<'a, T> {
    /// The elements of the row as a float.
    pub fn count(&self, dtype: DType) -> Value<'a> {
        self.len.to(dtype)
    }
}
