//! Reductions: a team for each result, or, where these would be few, for each part of what it is made of.

use opforge::operator::Reduce;
use opforge_core::{Meta, Result};
use opforge_trace::Reduction;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{GROUPS, Rows};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

/// A tensor's dimensions: those that stay, and those that are reduced.
pub(crate) struct Reduced<'a> {
    code: &'a Code,
    x: Tensor<'a>,
    y: Tensor<'a>,
    kept: Vec<Value<'a>>,
    along: Vec<Value<'a>>,
    along_steps: Vec<Value<'a>>,
    len: Value<'a>,
    /// The results, and the elements of each.
    pub rows: Rows,
}

/// A product of lengths.
fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// Lengths and steps of the dimensions that stay, of input and output, and of those that are reduced.
struct Divided {
    kept: Vec<usize>,
    steps: Vec<Vec<usize>>,
    along: Vec<usize>,
    along_steps: Vec<usize>,
}

impl Divided {
    fn new(input: &Meta, axes: &[usize], output: &Meta) -> Self {
        let (dims, stride) = (input.dims(), input.layout.stride());
        let keeps = output.rank() == input.rank();
        let own: Vec<usize> = (0..dims.len()).filter(|d| !axes.contains(d)).collect();
        let of = |from: &[usize], which: &[usize]| which.iter().map(|&d| from[d]).collect::<Vec<_>>();
        let place = |(i, &d): (usize, &usize)| output.layout.stride()[if keeps { d } else { i }];
        let out_stride: Vec<usize> = own.iter().enumerate().map(place).collect();
        let (kept, steps) = collapsed(&of(dims, &own), &[&of(stride, &own), &out_stride]);
        let (along, mut along_steps) = collapsed(&of(dims, axes), &[&of(stride, axes)]);
        Divided { kept, steps, along, along_steps: along_steps.remove(0) }
    }

    fn rows(&self) -> Rows {
        let across = self.along_steps.last() != Some(&1) && self.steps[0].last() == Some(&1);
        Rows { count: count(&self.kept), len: count(&self.along), across }
    }
}

impl<'a> Reduced<'a> {
    pub fn new(code: &'a Code, input: &Meta, axes: &[usize], output: &Meta) -> Self {
        let divided = Divided::new(input, axes, output);
        let rows = divided.rows();
        let Divided { kept, steps, along, along_steps } = divided;
        let x = code.strided(Place::Input(0), input.dtype, &kept, &steps[0], false);
        let y = code.strided(Place::Output(0), output.dtype, &kept, &steps[1], true);
        let sizes = |dims: &[usize]| dims.iter().map(|&n| code.size(n)).collect::<Vec<_>>();
        Reduced {
            code,
            x,
            y,
            kept: sizes(&kept),
            along_steps: sizes(&along_steps),
            along: sizes(&along),
            len: code.size(rows.len),
            rows,
        }
    }

    /// Where in each dimension a result is, and of how many elements it is made.
    pub fn at(&self, row: Value<'a>) -> (Vec<Value<'a>>, Value<'a>) {
        (self.code.unravelled(row, &self.kept), self.len)
    }

    /// An element of a result.
    pub fn load(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        let along = self.code.unravelled(i, &self.along);
        let terms = along.into_iter().zip(&self.along_steps).map(|(i, &step)| i * step);
        self.x.load_at(terms.fold(self.x.place(at), |sum, term| sum + term))
    }

    pub fn store(&self, at: &[Value<'a>], value: Value<'a>) {
        self.y.store(at, value.to(self.y.dtype.compute()));
    }
}

/// The elements of each part of a reduction of which there are too few to occupy a GPU; none where they are not few, or not long.
pub(super) fn parts(rows: Rows) -> Option<usize> {
    /// Elements that are worth a team.
    const LEAST: usize = 1024;
    let parts = (GROUPS / rows.groups().max(1)).min(rows.len / LEAST);
    (parts > 1).then(|| rows.len.div_ceil(parts))
}

pub(crate) fn reduce(call: &Call<'_>, reduce: &Reduce) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let len = reduce.axes.iter().map(|&axis| input.dims()[axis]).product();
    let traced = reduce.trace(input.dtype, output.dtype, len, call.target.fused);
    let traced = traced.ok_or_else(|| call.refuse("dtype", input.dtype.as_str(), "dtypes that have a trace"))?;
    let rows = Divided::new(input, &reduce.axes, output).rows();
    match parts(rows) {
        None => call.one(|k| {
            let of = Reduced::new(k, input, &reduce.axes, output);
            k.teams(
                rows,
                |row| of.at(row),
                |team| {
                    let all = team.fold(
                        k.call(&traced.identity, &[]),
                        |line, i| k.call(&traced.before, &[of.load(&line.at, i)]),
                        |a, b| k.call(&traced.combine, &[a, b]),
                    );
                    team.once(|line| of.store(&line.at, k.call(&traced.after, &[all.of(line)])));
                },
            );
            Ok(())
        }),
        Some(len) => by_parts(call, reduce, &traced, rows, len),
    }
}

/// The parts' results in memory, part by part, and then those of the parts.
fn by_parts(call: &Call<'_>, reduce: &Reduce, of: &Reduction, rows: Rows, len: usize) -> Result<Program> {
    let (input, output, count) = (call.inputs[0], call.outputs[0], rows.len.div_ceil(len));
    let dtype = of.identity.node(of.identity.results()[0]).dtype;
    let mut program = Program::default();
    let place = program.scratch(dtype, rows.count * count);
    program.launch(call.target, |k| {
        let from = Reduced::new(k, input, &reduce.axes, output);
        let found = k.strided(place, dtype, &[rows.count * count], &[1], true);
        let (results, most, all) = (k.size(rows.count), k.size(len), k.size(rows.len));
        k.teams(
            Rows { count: rows.count * count, len, ..rows },
            |row| {
                let first = row / results * most;
                ((from.at(row % results).0, first), (all - first).min(most))
            },
            |team| {
                let all = team.fold(
                    k.call(&of.identity, &[]),
                    |line, i| k.call(&of.before, &[from.load(&line.at.0, line.at.1 + i)]),
                    |a, b| k.call(&of.combine, &[a, b]),
                );
                team.once(|line| found.store(&[line.row], all.of(line)));
            },
        );
        Ok(())
    })?;
    program.launch(call.target, |k| {
        let to = Reduced::new(k, input, &reduce.axes, output);
        let found = k.strided(place, dtype, &[count, rows.count], &[rows.count, 1], false);
        let number = k.size(count);
        k.teams(
            Rows { count: rows.count, len: count, across: rows.count > 1 },
            |row| (to.at(row).0, number),
            |team| {
                let all = team.fold(
                    k.call(&of.identity, &[]),
                    |line, i| found.load(&[i, line.row]),
                    |a, b| k.call(&of.combine, &[a, b]),
                );
                team.once(|line| to.store(&line.at, k.call(&of.after, &[all.of(line)])));
            },
        );
        Ok(())
    })?;
    Ok(program)
}
