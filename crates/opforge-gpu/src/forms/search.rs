//! The place of the most extreme element.

use opforge_core::{DType, Result};
use opforge_tile::forms::{Extreme, Search};

use crate::lower::Call;
use crate::program::Program;
use crate::value::Value;

use super::reduce::Reduced;

pub(crate) fn search(call: &Call<'_>, form: &Search) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    call.one(|k| {
        let of = Reduced::new(k, input, &[form.axis], output);
        k.each(of.rows, |row| {
            let at = of.at(row);
            let place = k.var(k.index(0));
            let best = k.var(ordered(of.load(&at, k.index(0))));
            k.repeat(k.size(of.len), |i| {
                let (x, before) = (ordered(of.load(&at, i)), best.get());
                k.when(beats(form.extreme, x, before), || {
                    best.set(x);
                    place.set(i);
                });
            });
            of.store(&at, place.get());
        });
        Ok(())
    })
}

/// Truth values as numbers.
pub(crate) fn ordered(x: Value<'_>) -> Value<'_> {
    if x.dtype() == DType::Bool { x.to(DType::U8) } else { x }
}

/// Whether one element is more extreme than another; NaN is more extreme than any number.
pub(crate) fn beats<'a>(extreme: Extreme, x: Value<'a>, other: Value<'a>) -> Value<'a> {
    let beyond = match extreme {
        Extreme::Max => other.lt(x),
        Extreme::Min => x.lt(other),
    };
    if x.dtype().is_float() { beyond | (x.is_nan() & !other.is_nan()) } else { beyond }
}
