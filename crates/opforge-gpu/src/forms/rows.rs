//! Functions of rows: a team for each row. What a pass keeps at a place is computed again where it is needed.

use opforge::operator::Rows;
use opforge_core::{Meta, Result};
use opforge_tile::Fold;
use opforge_trace::{Pass, Passes};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{self, Found};
use crate::value::Value;

use super::scan::Lines;

pub(crate) fn rows(call: &Call<'_>, rows: &Rows) -> Result<Program> {
    call.real(call.inputs)?;
    let (output, axis, dtype) = (call.outputs[0], rows.axis, call.inputs[0].dtype);
    let traced = rows.trace(dtype, call.target.fused);
    let passes = traced.ok_or_else(|| call.refuse("dtype", dtype.as_str(), "floats"))?;
    let stretched = call
        .inputs
        .iter()
        .map(|input| Ok(Meta { dtype: input.dtype, layout: input.layout.broadcast_as(output.shape(), call.op)? }));
    let inputs = stretched.collect::<Result<Vec<Meta>>>()?;
    let others = Lines::others(output, axis);
    call.one(|k| {
        let given = inputs.iter().enumerate().map(|(i, meta)| Lines::new(k, Place::Input(i), meta, axis));
        let made = call.outputs.iter().enumerate().map(|(i, meta)| Lines::new(k, Place::Output(i), meta, axis));
        let (given, made) = (given.collect::<Vec<_>>(), made.collect::<Vec<_>>());
        let lengths: Vec<Value<'_>> = others.iter().map(|&n| k.size(n)).collect();
        let (count, len) = (others.iter().product(), output.dims()[axis]);
        let across = output.layout.stride()[axis] > 1 && len > 1;
        let size = k.size(len);
        let locate = |row| (k.unravelled(row, &lengths), size);
        k.teams(team::Rows { count, len, across }, locate, |team| {
            let mut found: Vec<Found<'_>> = Vec::new();
            for (number, pass) in passes.passes.iter().enumerate() {
                let (Pass::Fold(_, expression) | Pass::Write(_, expression)) = pass;
                let before = found.clone();
                let value = team.element(|line, i| {
                    let elements: Vec<Value<'_>> = given.iter().map(|x| x.load(&line.at, i)).collect();
                    let found: Vec<Value<'_>> = before.iter().map(|found| found.of(line)).collect();
                    let kept = kept(k, &passes, number, &elements, &found);
                    k.apply(expression, &arguments(&elements, kept, &found)).0[0]
                });
                match pass {
                    Pass::Fold(by, _) => {
                        let identity = k.constant(by.identity(), dtype.compute());
                        let all = team.fold(identity, value, |a, b| match by {
                            Fold::Sum => a + b,
                            Fold::Max => a.max(b),
                        });
                        found.push(all);
                    }
                    Pass::Write(output, _) => {
                        team.each(|line, i| made[*output].store(&line.at, i, value(line, i)));
                    }
                }
            }
        });
        Ok(())
    })
}

/// What a pass is given: the elements, what is kept at the place, and what was found before.
fn arguments<'a>(elements: &[Value<'a>], kept: Option<Value<'a>>, found: &[Value<'a>]) -> Vec<Value<'a>> {
    // Before anything is kept nothing asks for it.
    let kept = kept.unwrap_or(elements[0]);
    elements.iter().copied().chain([kept]).chain(found.iter().copied()).collect()
}

/// What the passes before this one keep at a place.
fn kept<'a>(
    k: &'a Code,
    passes: &Passes,
    before: usize,
    elements: &[Value<'a>],
    found: &[Value<'a>],
) -> Option<Value<'a>> {
    let mut kept = None;
    for pass in &passes.passes[..before] {
        if let Pass::Fold(_, expression) = pass
            && expression.results().len() == 2
        {
            kept = k.apply(expression, &arguments(elements, kept, found)).0.last().copied();
        }
    }
    kept
}
