//! Variances and deviations.

use opforge_core::{DType, Result};
use opforge_tile::forms::Spread;

use crate::code::Code;
use crate::lower::Call;
use crate::program::Program;
use crate::team::mapped;
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
                let x = team.hold(|line, pack| of.load_pack(&line.at, pack));
                let sizes = |line: &_, pack: &_| mapped(x.of(line, pack), Value::abs);
                let greatest = team.fold_packs(k.constant(0.0, dtype), sizes, |a, b| a.max(b));
                let scaled = team.pack(|line, pack| {
                    let factor = factor(k, greatest.of(line));
                    mapped(x.of(line, pack), |x| x * factor)
                });
                let total = team.sum_packs(dtype, &scaled);
                let distances = team.pack(|line, pack| {
                    let mean = total.of(line) / k.constant(count, dtype);
                    mapped(scaled(line, pack), |x| x - mean)
                });
                // What the mean lacks for being rounded.
                let rest = team.sum_packs(dtype, &distances);
                let squares = team.sum_packs(dtype, |line, pack| mapped(distances(line, pack), |x| x * x));
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
