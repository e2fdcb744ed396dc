//! Sorting by counting, and search in sorted numbers: a thread for each element.

use opforge_core::{DType, Result};
use opforge_tile::forms::{Rank, Sort};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::value::Value;

use super::scan::Lines;
use super::search::ordered;

pub(crate) fn sort(call: &Call<'_>, form: &Sort) -> Result<Program> {
    call.real(call.inputs)?;
    match *form {
        Sort::Order { axis, descending } => order(call, axis, descending, Rank::At(0)),
        Sort::Place { axis, rank } => order(call, axis, false, rank),
        Sort::Search { right } => search(call, right),
    }
}

/// Whether `a` comes before `b`, NaN last.
fn less<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let below = a.lt(b);
    if a.dtype().is_float() { below | (!a.is_nan() & b.is_nan()) } else { below }
}

/// Each element counts those that come before it: the place of an element is found by a thread of its own. Places from `rank` on are wanted.
fn order(call: &Call<'_>, axis: usize, descending: bool, rank: Rank) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let len = input.dims()[axis];
    let others = Lines::others(input, axis);
    call.one(|k| {
        let (x, y) = (Lines::new(k, Place::Input(0), input, axis), Lines::new(k, Place::Output(0), output, axis));
        k.each_of(&[&others[..], &[len]].concat(), |place| {
            let (at, i) = (&place[..place.len() - 1], place[place.len() - 1]);
            let own = ordered(x.load(at, i));
            let before = k.var(k.index(0));
            k.repeat(k.size(len), |j| {
                let other = ordered(x.load(at, j));
                let (first, after) = (less(other, own), less(own, other));
                let (first, after) = if descending { (after, first) } else { (first, after) };
                let equal = !first & !after & j.lt(i);
                k.when(first | equal, || before.add(k.index(1)));
            });
            // Places before the first wanted wrap around, beyond all others.
            let place = match rank {
                Rank::At(0) => before.get(),
                Rank::At(first) => before.get() - k.size(first),
                Rank::MiddleNumber => before.get() - middle(k, &x, at, len),
            };
            k.when(place.lt(k.size(output.dims()[axis])), || y.store(at, place, i));
        });
        Ok(())
    })
}

/// The middle of so many places as a line has numbers.
fn middle<'a>(k: &'a Code, line: &Lines<'a>, at: &[Value<'a>], len: usize) -> Value<'a> {
    let numbers = k.var(k.index(0));
    k.repeat(k.size(len), |j| {
        let element = ordered(line.load(at, j));
        if element.dtype().is_float() {
            k.when(!element.is_nan(), || numbers.add(k.index(1)));
        } else {
            numbers.add(k.index(1));
        }
    });
    k.when(numbers.get().equals(k.index(0)), || numbers.set(k.index(1)));
    let last = numbers.get() - 1;
    last / k.constant_bits(2, last.dtype())
}

/// By bisection.
fn search(call: &Call<'_>, right: bool) -> Result<Program> {
    let (sorted, values, output) = (call.inputs[0], call.inputs[1], call.outputs[0]);
    let last = sorted.rank() - 1;
    let own = last > 0;
    call.one(|k| {
        let lines = Lines::new(k, Place::Input(0), sorted, last);
        let (x, y) = (k.input(1, values), k.output(0, output));
        k.each_of(values.dims(), |at| {
            let line = if own { &at[..last] } else { &[][..] };
            let value = x.load(at);
            let (from, count) = (k.var(k.index(0)), k.var(k.size(sorted.dims()[last])));
            k.forever(|| {
                let left = count.get();
                k.leave(left.equals(k.index(0)));
                bisect(k, &lines, line, value, right, (from, count), left);
            });
            y.store(at, from.get().to(y.dtype.compute()));
        });
        Ok(())
    })
}

type Range<'a> = (crate::value::Var<'a>, crate::value::Var<'a>);

/// Goes on in one half of the elements that are left.
fn bisect<'a>(
    k: &'a Code,
    lines: &Lines<'a>,
    line: &[Value<'a>],
    value: Value<'a>,
    right: bool,
    (from, count): Range<'a>,
    left: Value<'a>,
) {
    let half = left / k.constant_bits(2, left.dtype());
    let middle = from.get() + half;
    let element = lines.load(line, middle);
    let before = if right { !less(value, element) } else { less(element, value) };
    debug_assert_eq!(before.dtype(), DType::Bool);
    k.either(
        before,
        || {
            from.set(middle + 1);
            count.set(left - half - 1);
        },
        || count.set(half),
    );
}
