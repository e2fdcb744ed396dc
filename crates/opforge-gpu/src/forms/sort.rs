//! Places in sorted lines, and search in them.

use opforge_core::Result;
use opforge_tile::forms::{Rank, Sort};

use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::value::Value;

use super::merge_sort::{Unsorted, bisect, greatest_key, key_dtype, sort_chunks, sort_lines};
use super::scan::Lines;
use super::top;

pub(crate) fn sort(call: &Call<'_>, form: &Sort) -> Result<Program> {
    call.real(call.inputs)?;
    match *form {
        Sort::Order { axis, descending } => order(call, axis, descending, Rank::At(0)),
        Sort::Place { axis, rank } => order(call, axis, false, rank),
        Sort::Search { right } => search(call, right),
    }
}

/// Where the elements come from that sorting brings to the places from `rank` on: as many as the output has along the axis.
fn order(call: &Call<'_>, axis: usize, descending: bool, rank: Rank) -> Result<Program> {
    let from = Unsorted { place: Place::Input(0), meta: call.inputs[0], axis, descending };
    match rank {
        Rank::At(0) if top::are_few(&from, call.outputs[0].dims()[axis]) => top::first_few(call, &from),
        Rank::At(first) if from.is_short() => order_short(call, &from, first),
        _ => order_long(call, &from, rank),
    }
}

/// Groups that sort whole lines write what is wanted.
fn order_short(call: &Call<'_>, from: &Unsorted<'_>, first: usize) -> Result<Program> {
    let output = call.outputs[0];
    call.one(|k| {
        let y = Lines::new(k, Place::Output(0), output, from.axis);
        let (first, count) = (k.size(first), k.size(output.dims()[from.axis]));
        sort_chunks(k, from, |element| {
            // Places before the first wanted wrap around, beyond all others.
            let place = element.place - first;
            k.when(place.lt(count), || y.store(&y.at(element.line), place, element.origin));
        });
        Ok(())
    })
}

/// Lines are sorted in memory as far as is needed, and what is wanted is copied.
fn order_long(call: &Call<'_>, from: &Unsorted<'_>, rank: Rank) -> Result<Program> {
    let (output, len) = (call.outputs[0], from.len());
    let count = output.dims()[from.axis];
    let mut program = Program::default();
    let kept = if let Rank::At(first) = rank { first + count } else { len };
    let sorted = sort_lines(&mut program, call.target, from, kept)?;
    program.launch(call.target, |k| {
        let keys = k.strided(sorted.keys, key_dtype(from.meta.dtype), &[], &[], false);
        let order = k.strided(sorted.order, INDEX, &[], &[], false);
        let y = Lines::new(k, Place::Output(0), output, from.axis);
        k.each_of(&[from.lines(), count], |at| {
            let (line, i) = (at[0] * k.size(sorted.stride), at[1]);
            let numbers = || bisect(k, k.size(len), |i| keys.load_at(line + i).lt(greatest_key(k, keys.dtype)));
            let first = match rank {
                Rank::At(first) => k.size(first),
                Rank::MiddleNumber if from.meta.dtype.is_float() => (numbers().max(k.index(1)) - 1) / 2,
                Rank::MiddleNumber => k.size((len - 1) / 2),
            };
            y.store(&y.at(at[0]), i, order.load_at(line + first + i));
        });
        Ok(())
    })?;
    Ok(program)
}

/// Whether `a` comes before `b`, NaN last.
fn less<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let below = a.lt(b);
    if a.dtype().is_float() { below | (!a.is_nan() & b.is_nan()) } else { below }
}

fn search(call: &Call<'_>, right: bool) -> Result<Program> {
    let (sorted, values, output) = (call.inputs[0], call.inputs[1], call.outputs[0]);
    let last = sorted.rank() - 1;
    call.one(|k| {
        let lines = Lines::new(k, Place::Input(0), sorted, last);
        let (x, y) = (k.input(1, values), k.output(0, output));
        k.each_of(values.dims(), |at| {
            // One line is for all values, or there is one for each line of them.
            let line = if last > 0 { &at[..last] } else { &[][..] };
            let value = x.load(at);
            let place = bisect(k, k.size(sorted.dims()[last]), |i| {
                let element = lines.load(line, i);
                if right { !less(value, element) } else { less(element, value) }
            });
            y.store(at, place.to(y.dtype.compute()));
        });
        Ok(())
    })
}
