//! The place of the most extreme element.

use opforge_core::{DType, Result};
use opforge_tile::forms::{Extreme, Search};

use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::Program;
use crate::team::{Pack, Rows};
use crate::value::Value;

use super::reduce::{Reduced, parts, reduced_rows};

pub(crate) fn search(call: &Call<'_>, form: &Search) -> Result<Program> {
    let (input, output, axis) = (call.inputs[0], call.outputs[0], form.axis);
    call.real(&[input, output])?;
    let rows = reduced_rows(input, &[axis], output);
    if let Some(len) = parts(rows) {
        return by_parts(call, form, rows, len);
    }
    call.one(|k| {
        let (of, first) = (Reduced::new(k, input, &[axis], output), k.index(0));
        k.teams(
            rows,
            |row| of.at(row),
            |team| {
                let [_, place] = team.folds(
                    |line| [ordered(of.load(&line.at, first)), first],
                    |line, pack| elements(&of, &line.at, pack),
                    |a, b| better(form.extreme, a, b),
                );
                team.once(|line| of.store(&line.at, place.of(line)));
            },
        );
        Ok(())
    })
}

/// The most extreme elements of parts of rows in memory, part by part, and then those of the parts.
fn by_parts(call: &Call<'_>, form: &Search, rows: Rows, len: usize) -> Result<Program> {
    let (input, output, count) = (call.inputs[0], call.outputs[0], rows.len.div_ceil(len));
    let mut program = Program::default();
    let found = [ordered_dtype(input.dtype), INDEX].map(|dtype| (program.scratch(dtype, rows.count * count), dtype));
    program.launch(call.target, |k| {
        let from = Reduced::new(k, input, &[form.axis], output);
        let to = found.map(|(place, dtype)| k.strided(place, dtype, &[rows.count * count], &[1], true));
        let (results, most, all) = (k.size(rows.count), k.size(len), k.size(rows.len));
        k.teams(
            Rows { count: rows.count * count, len, equal: false, ..rows },
            |row| {
                let first = row / results * most;
                ((from.at(row % results).0, first), (all - first).min(most))
            },
            |team| {
                let best = team.folds(
                    |line| [ordered(from.load(&line.at.0, line.at.1)), line.at.1],
                    |line, pack| elements(&from, &line.at.0, &pack.after(line.at.1)),
                    |a, b| better(form.extreme, a, b),
                );
                team.once(|line| to.iter().zip(best).for_each(|(to, best)| to.store(&[line.row], best.of(line))));
            },
        );
        Ok(())
    })?;
    program.launch(call.target, |k| {
        let to = Reduced::new(k, input, &[form.axis], output);
        let from = found.map(|(place, dtype)| k.strided(place, dtype, &[count, rows.count], &[rows.count, 1], false));
        let (number, first) = (k.size(count), k.index(0));
        let state = |row, part| from.each_ref().map(|from| from.load(&[part, row]));
        k.teams(
            Rows::new(rows.count, count, rows.count > 1),
            |row| (to.at(row).0, number),
            |team| {
                let [_, place] = team.folds(
                    |line| state(line.row, first),
                    |line, pack| vec![state(line.row, pack.first)],
                    |a, b| better(form.extreme, a, b),
                );
                team.once(|line| to.store(&line.at, place.of(line)));
            },
        );
        Ok(())
    })?;
    Ok(program)
}

/// The elements of a pack and their places.
fn elements<'a>(of: &Reduced<'a>, at: &[Value<'a>], pack: &Pack<'a>) -> Vec<[Value<'a>; 2]> {
    of.load_pack(at, pack).into_iter().enumerate().map(|(i, x)| [ordered(x), pack.first + i]).collect()
}

/// The more extreme of two elements, each with its place; of equal ones the first.
fn better<'a>(extreme: Extreme, a: [Value<'a>; 2], b: [Value<'a>; 2]) -> [Value<'a>; 2] {
    let is_first = b[1].lt(a[1]) & !beats(extreme, a[0], b[0]);
    let is_better = beats(extreme, b[0], a[0]) | is_first;
    [0, 1].map(|n| is_better.choose(b[n], a[n]))
}

/// Truth values as numbers.
pub(crate) fn ordered(x: Value<'_>) -> Value<'_> {
    if x.dtype() == DType::Bool { x.to(DType::U8) } else { x }
}

/// The dtype of [`ordered`] elements.
pub(crate) fn ordered_dtype(dtype: DType) -> DType {
    if dtype == DType::Bool { DType::U8 } else { dtype.compute() }
}

/// Whether one element is more extreme than another; NaN is more extreme than any number.
pub(crate) fn beats<'a>(extreme: Extreme, x: Value<'a>, other: Value<'a>) -> Value<'a> {
    let beyond = match extreme {
        Extreme::Max => other.lt(x),
        Extreme::Min => x.lt(other),
    };
    if x.dtype().is_float() { beyond | (x.is_nan() & !other.is_nan()) } else { beyond }
}
