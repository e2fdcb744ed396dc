//! Sums and the like over many elements: by one thread where they are few, else by a group.

use opforge_core::DType;

use crate::code::Code;
use crate::kernel::LANES;
use crate::value::{Array, Value};

/// Elements from which on a group shares them.
const MANY: usize = 512;

/// Who goes through the elements of a row.
pub(crate) struct Team<'a> {
    code: &'a Code,
    count: Value<'a>,
    shares: bool,
}

/// What a team has found; every thread of it can have it.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Here(Value<'a>),
    InGroup(Array<'a>),
}

impl<'a> Found<'a> {
    pub fn get(self) -> Value<'a> {
        match self {
            Found::Here(value) => value,
            Found::InGroup(array) => array.load(array.code.index(0)),
        }
    }
}

impl Code {
    /// For every one of `rows` rows of `len` elements, a team.
    pub fn teams<'a>(&'a self, rows: usize, len: usize, body: impl FnOnce(&Team<'a>, Value<'a>)) {
        let shares = len >= MANY;
        let count = self.size(len);
        let team = Team { code: self, count, shares };
        if shares { self.groups(rows, |row| body(&team, row)) } else { self.each(rows, |row| body(&team, row)) }
    }
}

impl<'a> Team<'a> {
    /// For every element of the row, in any order.
    pub fn each(&self, body: impl FnOnce(Value<'a>)) {
        let code = self.code;
        if !self.shares {
            return code.repeat(self.count, body);
        }
        code.lanes(LANES, |lane| {
            let turns = (self.count + (LANES - 1) - lane) / LANES;
            code.repeat(turns, |turn| body(turn * LANES + lane));
        });
    }

    /// Once for the row.
    pub fn once(&self, body: impl FnOnce()) {
        if self.shares { self.code.lanes(1, |_| body()) } else { body() }
    }

    /// All terms combined: `combine` is associative and commutative, and `identity` changes nothing.
    pub fn fold(
        &self,
        identity: Value<'a>,
        term: impl FnOnce(Value<'a>) -> Value<'a>,
        combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
    ) -> Found<'a> {
        let code = self.code;
        if !self.shares {
            let all = code.var(identity);
            code.repeat(self.count, |i| all.set(combine(all.get(), term(i))));
            return Found::Here(all.get());
        }
        let array = code.shared(identity.dtype(), LANES);
        code.lanes(LANES, |lane| {
            let own = code.var(identity);
            let turns = (self.count + (LANES - 1) - lane) / LANES;
            code.repeat(turns, |turn| own.set(combine(own.get(), term(turn * LANES + lane))));
            array.store(lane, own.get());
        });
        let mut half = LANES / 2;
        while half > 0 {
            code.lanes(half, |lane| array.store(lane, combine(array.load(lane), array.load(lane + half))));
            half /= 2;
        }
        Found::InGroup(array)
    }

    /// The sum of all terms, in a float dtype.
    pub fn sum(&self, dtype: DType, term: impl FnOnce(Value<'a>) -> Value<'a>) -> Found<'a> {
        self.fold(self.code.constant(0.0, dtype), term, |a, b| a + b)
    }

    /// The elements of the row as a float.
    pub fn count(&self, dtype: DType) -> Value<'a> {
        self.count.to(dtype)
    }
}
