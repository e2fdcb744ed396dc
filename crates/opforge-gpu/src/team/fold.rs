//! Folds of a row's elements: each lane's own, then pair by pair among the lanes of a warp, which need no memory for that, and among warps at last.

use std::array;

use opforge_core::DType;

use crate::kernel::LANES;
use crate::value::{Array, Value, Var};

use super::division::{Division, WARP};
use super::{Line, Pack, Share, Team};

/// What a team has found; every thread of it can have it.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Here(Value<'a>),
    InLanes(Var<'a>),
    InGroup(Array<'a>),
}

impl<'a> Found<'a> {
    /// What was found of a line.
    pub fn of<T>(self, line: &Line<'a, T>) -> Value<'a> {
        match self {
            Found::Here(value) => value,
            Found::InLanes(var) => var.get(),
            Found::InGroup(array) => array.load(line.slot),
        }
    }
}

/// A function of two states, associative and commutative.
trait Combine<'a, const N: usize>: Fn([Value<'a>; N], [Value<'a>; N]) -> [Value<'a>; N] {}
impl<'a, const N: usize, F: Fn([Value<'a>; N], [Value<'a>; N]) -> [Value<'a>; N]> Combine<'a, N> for F {}

/// All of some states, neighbours first.
fn tree<'a, const N: usize>(mut states: Vec<[Value<'a>; N]>, combine: &impl Combine<'a, N>) -> [Value<'a>; N] {
    while states.len() > 1 {
        states = states.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |a, &b| combine(a, b))).collect();
    }
    states[0]
}

/// Combines what variables have with a state.
fn add<'a, const N: usize>(all: &[Var<'a>; N], state: [Value<'a>; N], combine: &impl Combine<'a, N>) {
    let combined = combine(all.map(Var::get), state);
    all.iter().zip(combined).for_each(|(all, value)| all.set(value));
}

impl<'a, T> Team<'_, 'a, T> {
    /// The states of all elements combined: `combine` is associative and commutative, and `identity` changes nothing.
    pub fn folds<const N: usize>(
        &self,
        identity: impl Fn(&Line<'a, T>) -> [Value<'a>; N],
        states: impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<[Value<'a>; N]>,
        combine: impl Fn([Value<'a>; N], [Value<'a>; N]) -> [Value<'a>; N],
    ) -> [Found<'a>; N] {
        let code = self.code;
        match &self.share {
            Share::Thread(line) => {
                let all = identity(line).map(|value| code.var(value));
                self.single(line, |pack| add(&all, tree(states(line, pack), &combine), &combine));
                all.map(|all| Found::Here(all.get()))
            }
            &Share::Lanes { division, group, rows } => {
                let mut own_states = None;
                self.lanes(division, group, rows, |line, own| {
                    let identity = identity(line);
                    let all = identity.map(|value| code.lane_var_of(value));
                    self.packs(division, line, own, |pack| {
                        let mut state = tree(states(line, pack), &combine);
                        if let Some(inside) = pack.inside {
                            state = array::from_fn(|n| inside.choose(state[n], identity[n]));
                        }
                        add(&all, state, &combine);
                    });
                    own_states = Some(all);
                });
                self.combined(division, own_states.expect("the body is written once"), &combine)
            }
        }
    }

    /// Combines what the lanes of each row have.
    fn combined<const N: usize>(
        &self,
        division: Division,
        all: [Var<'a>; N],
        combine: &impl Combine<'a, N>,
    ) -> [Found<'a>; N] {
        if division.across {
            return self.combined_across(division, all, combine).map(Found::InGroup);
        }
        self.combined_in_warps(division.lanes.min(WARP), &all, combine);
        if division.lanes > WARP {
            self.combined_of_warps(division.lanes, &all, combine);
        }
        all.map(Found::InLanes)
    }

    /// Combines what each so many lanes in a row have, so that each of them has all of it.
    fn combined_in_warps<const N: usize>(&self, lanes: usize, all: &[Var<'a>; N], combine: &impl Combine<'a, N>) {
        let code = self.code;
        let others = all.map(|all| code.lane_var(all.dtype));
        let mut apart = lanes / 2;
        while apart > 0 {
            others.iter().zip(all).for_each(|(other, all)| code.exchange(*other, *all, apart));
            code.alone(|_| add(all, others.map(Var::get), combine));
            apart /= 2;
        }
    }

    /// Combines what the warps of each row have, so that each lane has all of it.
    fn combined_of_warps<const N: usize>(&self, lanes: usize, all: &[Var<'a>; N], combine: &impl Combine<'a, N>) {
        let code = self.code;
        let arrays = all.map(|all| code.shared(all.dtype, LANES / WARP));
        code.lanes(LANES, |lane| {
            code.when((lane % WARP).equals(code.index(0)), || {
                arrays.iter().zip(all).for_each(|(array, all)| array.store(lane / WARP, all.get()));
            });
        });
        code.alone(|lane| {
            let first = if lanes == LANES { code.index(0) } else { lane / lanes * (lanes / WARP) };
            let states = (0..lanes / WARP).map(|warp| arrays.map(|array| array.load(first + warp)));
            let combined = tree(states.collect(), combine);
            all.iter().zip(combined).for_each(|(all, value)| all.set(value));
        });
    }

    /// Combines what the lanes of rows have that lie across, pair by pair in memory.
    fn combined_across<const N: usize>(
        &self,
        division: Division,
        all: [Var<'a>; N],
        combine: &impl Combine<'a, N>,
    ) -> [Array<'a>; N] {
        let code = self.code;
        let arrays = all.map(|all| code.shared(all.dtype, LANES));
        let store = |lane, state: [Value<'a>; N]| {
            arrays.iter().zip(state).for_each(|(array, value)| array.store(lane, value));
        };
        code.lanes(LANES, |lane| store(lane, all.map(Var::get)));
        let mut apart = LANES / 2;
        while apart >= division.rows {
            let of = |lane| arrays.map(|array| array.load(lane));
            code.lanes(apart, |lane| store(lane, combine(of(lane), of(lane + apart))));
            apart /= 2;
        }
        arrays
    }

    /// As [`Team::folds`], of one value an element.
    pub fn fold_packs(
        &self,
        identity: Value<'a>,
        terms: impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>>,
        combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
    ) -> Found<'a> {
        let states = |line: &_, pack: &_| terms(line, pack).into_iter().map(|term| [term]).collect();
        let [found] = self.folds(|_| [identity], states, |[a], [b]| [combine(a, b)]);
        found
    }

    /// As [`Team::fold_packs`], of elements one by one.
    pub fn fold(
        &self,
        identity: Value<'a>,
        term: impl Fn(&Line<'a, T>, Value<'a>) -> Value<'a>,
        combine: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
    ) -> Found<'a> {
        self.fold_packs(identity, |line, pack| vec![term(line, pack.first)], combine)
    }

    /// The sum of all terms, in a float dtype.
    pub fn sum(&self, dtype: DType, term: impl Fn(&Line<'a, T>, Value<'a>) -> Value<'a>) -> Found<'a> {
        self.fold(self.code.constant(0.0, dtype), term, |a, b| a + b)
    }

    /// The sum of all terms of all packs, in a float dtype.
    pub fn sum_packs(&self, dtype: DType, terms: impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>>) -> Found<'a> {
        self.fold_packs(self.code.constant(0.0, dtype), terms, |a, b| a + b)
    }

    /// Sums of several terms that an element has, in a float dtype.
    pub fn sums<const N: usize>(
        &self,
        dtype: DType,
        terms: impl Fn(&Line<'a, T>, Value<'a>) -> [Value<'a>; N],
    ) -> [Found<'a>; N] {
        let zeros = [(); N].map(|()| self.code.constant(0.0, dtype));
        let added = |a: [Value<'a>; N], b: [Value<'a>; N]| array::from_fn(|n| a[n] + b[n]);
        self.folds(|_| zeros, |line, pack| vec![terms(line, pack.first)], added)
    }
}
