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
        let count = of.len as f64;
        let left = (count - form.correction.to_f64()).max(0.0);
        k.teams(of.rows, of.len, |team, row| {
            let at = of.at(row);
            let greatest = team.fold(k.constant(0.0, dtype), |i| of.load(&at, i).abs(), |a, b| a.max(b));
            let scaled = |i| of.load(&at, i) * factor(k, greatest.get());
            let total = team.sum(dtype, scaled);
            let mean = || total.get() / k.constant(count, dtype);
            let distance = |i| scaled(i) - mean();
            // What the mean lacks for being rounded.
            let rest = team.sum(dtype, distance);
            let squares = team.sum(dtype, |i| {
                let distance = distance(i);
                distance * distance
            });
            team.once(|| {
                let (rest, scale) = (rest.get(), factor(k, greatest.get()));
                let sum = squares.get() - rest * rest / k.constant(count, dtype);
                let variance = sum.max(k.constant(0.0, dtype)) / k.constant(left, dtype);
                let result = if form.root { variance.sqrt() / scale } else { variance / scale / scale };
                of.store(&at, result);
            });
        });
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
