//! Packs: elements of a row that lie side by side, which a lane loads and stores together, and holds in registers where the row is short enough.

use crate::tensor::Tensor;
use crate::value::{Value, Var};

use super::{Line, Share, Team};

/// Elements of a row that a lane has together.
#[derive(Clone, Copy)]
pub(crate) struct Pack<'a> {
    /// The place of the first one in the row.
    pub first: Value<'a>,
    /// How many.
    pub width: usize,
    /// Its number among the lane's, where these are counted when the kernel is written.
    pub(super) number: usize,
    /// Whether it is the row's, where that is not known: if it is not, it stands for the row's first one.
    pub(super) inside: Option<Value<'a>>,
}

impl<'a> Pack<'a> {
    /// The pack `first` elements later.
    pub fn after(&self, first: Value<'a>) -> Self {
        Pack { first: first + self.first, ..*self }
    }
}

/// A function of each value.
pub(crate) fn mapped<'a>(values: Vec<Value<'a>>, f: impl Fn(Value<'a>) -> Value<'a>) -> Vec<Value<'a>> {
    values.into_iter().map(f).collect()
}

/// A function of each value and its counterpart.
pub(crate) fn zipped<'a>(
    values: Vec<Value<'a>>,
    others: Vec<Value<'a>>,
    f: impl Fn(Value<'a>, Value<'a>) -> Value<'a>,
) -> Vec<Value<'a>> {
    values.into_iter().zip(others).map(|(a, b)| f(a, b)).collect()
}

/// A function of packs, with a value for each element.
type OfPacks<'h, 'a, T> = dyn Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>> + 'h;

/// The values of a pack of a row.
pub(crate) type Computed<'h, 'a, T> = Box<dyn Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>> + 'h>;

/// What is known of every element of a row: held in registers from when it was computed, or computed again wherever it is needed.
pub(crate) enum Held<'h, 'a, T> {
    InLanes(Vec<Vec<Var<'a>>>),
    Again(Box<OfPacks<'h, 'a, T>>),
}

impl<'a, T> Held<'_, 'a, T> {
    /// The values of a pack.
    pub fn of(&self, line: &Line<'a, T>, pack: &Pack<'a>) -> Vec<Value<'a>> {
        match self {
            Held::InLanes(packs) => packs[pack.number].iter().map(|var| var.get()).collect(),
            Held::Again(compute) => compute(line, pack),
        }
    }
}

impl<'a> Tensor<'a> {
    /// The elements of a pack of a row, which lie side by side.
    pub fn load_row_pack(&self, row: Value<'a>, pack: &Pack<'a>) -> Vec<Value<'a>> {
        self.load_pack_at(self.place(&[row, pack.first]), pack.width)
    }

    pub fn store_row_pack(&self, row: Value<'a>, pack: &Pack<'a>, values: &[Value<'a>]) {
        self.store_pack_at(self.place(&[row, pack.first]), values);
    }
}

impl<'a, T> Team<'_, 'a, T> {
    /// Computes the values of every pack, if the row can be held.
    pub fn hold<'h>(&self, compute: impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>> + 'h) -> Held<'h, 'a, T> {
        let Share::Lanes { division, group, rows } = self.share else { return Held::Again(Box::new(compute)) };
        if division.held.is_none() {
            return Held::Again(Box::new(compute));
        }
        let mut held = Vec::new();
        self.lanes(division, group, rows, |line, own| {
            self.packs(division, line, own, |pack| {
                let values = compute(line, pack).into_iter();
                held.push(values.map(|value| self.code.lane_var_of(value)).collect());
            });
        });
        Held::InLanes(held)
    }

    /// For every pack of the row, in any order.
    pub fn each_pack(&self, body: impl Fn(&Line<'a, T>, &Pack<'a>)) {
        match &self.share {
            Share::Thread(line) => self.single(line, |pack| body(line, pack)),
            &Share::Lanes { division, group, rows } => self.lanes(division, group, rows, |line, own| {
                self.packs(division, line, own, |pack| match pack.inside {
                    Some(inside) => self.code.when(inside, || body(line, pack)),
                    None => body(line, pack),
                });
            }),
        }
    }

    /// For every element of the row, in any order.
    pub fn each(&self, body: impl Fn(&Line<'a, T>, Value<'a>)) {
        self.each_pack(|line, pack| body(line, pack.first));
    }

    /// Every element of a thread's row as a pack.
    pub(super) fn single(&self, line: &Line<'a, T>, body: impl FnOnce(&Pack<'a>)) {
        self.code.repeat(line.len, |first| body(&Pack { first, width: 1, number: 0, inside: None }));
    }

    /// The packs of one lane: one of every as many as there are lanes. Those that are held are written one after the other, so that their loads do not wait for one another.
    pub(super) fn packs(
        &self,
        division: super::Division,
        line: &Line<'a, T>,
        own: Value<'a>,
        mut body: impl FnMut(&Pack<'a>),
    ) {
        let (code, width, lanes) = (self.code, division.width, division.lanes);
        let Some(packs) = division.held else {
            let turns = (line.len / width + (lanes - 1) - own) / lanes;
            let first = |turn: Value<'a>| (turn * lanes + own) * width;
            return code.repeat(turns, |turn| body(&Pack { first: first(turn), width, number: 0, inside: None }));
        };
        for number in 0..packs.count {
            let first = (own + number * lanes) * width;
            let is_last = number + 1 == packs.count;
            let inside = (is_last && !packs.all).then(|| first.lt(line.len));
            let first = inside.map_or(first, |inside| inside.choose(first, code.index(0)));
            body(&Pack { first, width, number, inside });
        }
    }
}
