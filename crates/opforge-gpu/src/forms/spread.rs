//! Variances and deviations.

use opforge_core::{DType, Result};
use opforge_tile::forms::Spread;

use crate::code::Code;
use crate::lower::Call;
use crate::program::Program;
use crate::value::Value;

use super::reduce::Reduced;

pub(crate) fn spread(call: &Call<'_>, form: &Spread) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let dtype = input.dtype.compute();
    call.one(|k| {
        let of = Reduced::new(k, input, &form.axes, output);
        let count = of.rows.len as f64;
        let left = (count - form.correction.to_f64()).max(0.0);
        k.teams(
            of.rows,
            |row| of.at(row),
            |team| {
                let greatest = team.fold(k.constant(0.0, dtype), |line, i| of.load(&line.at, i).abs(), |a, b| a.max(b));
                let scaled = team.element(|line, i| of.load(&line.at, i) * factor(k, greatest.of(line)));
                let total = team.sum(dtype, &scaled);
                let distance = team.element(|line, i| scaled(line, i) - total.of(line) / k.constant(count, dtype));
                // What the mean lacks for being rounded.
                let rest = team.sum(dtype, &distance);
                let squares = team.sum(dtype, |line, i| {
                    let distance = distance(line, i);
                    distance * distance
                });
                team.once(|line| {
                    let (rest, scale) = (rest.of(line), factor(k, greatest.of(line)));
                    let sum = squares.of(line) - rest * rest / k.constant(count, dtype);
                    let variance = sum.max(k.constant(0.0, dtype)) / k.constant(left, dtype);
                    let result = if form.root { variance.sqrt() / scale } else { variance / scale / scale };
                    of.store(&line.at, result);
                });
            },
        );
        Ok(())
    })
}

/// A power of 2 that brings numbers up to `greatest` where their squares neither overflow nor vanish.
fn factor<'a>(k: &'a Code, greatest: Value<'a>) -> Value<'a> {
    let dtype = greatest.dtype();
    let step = if dtype == DType::F64 { 384.0 } else { 48.0 };
    let power = |n: f64| k.constant((n * step).exp2(), dtype);
    let mut scale = power(0.0);
    for (above, to) in [(0.5, -1.0), (1.5, -2.0)] {
        scale = power(above).lt(greatest).choose(power(to), scale);
    }
    for (below, to) in [(-0.5, 1.0), (-1.5, 2.0)] {
        scale = greatest.lt(power(below)).choose(power(to), scale);
    }
    scale
}
