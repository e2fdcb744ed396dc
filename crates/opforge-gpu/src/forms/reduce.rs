//! Reductions: a team for each result, or, where these would be few, for each part of what it is made of.

use opforge::operator::Reduce;
use opforge_core::{DType, Meta, Result};
use opforge_trace::Reduction;

use crate::code::Code;
use crate::lower::{Call, Target};
use crate::pack;
use crate::program::{Place, Program};
use crate::team::{GROUPS, Pack, Rows, mapped};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

/// Tensors of one shape: the dimensions that stay, and those that are reduced.
pub(crate) struct Reduced<'a> {
    code: &'a Code,
    /// The tensors along what stays, and their steps along the rest.
    from: Vec<(Tensor<'a>, Vec<Value<'a>>)>,
    to: Tensor<'a>,
    kept: Vec<Value<'a>>,
    along: Vec<Value<'a>>,
    len: Value<'a>,
    /// The results, and the elements of each.
    pub rows: Rows,
}

/// A product of lengths.
fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// Lengths and steps of the dimensions that stay, of inputs and the output, and of those that are reduced, of inputs.
struct Divided {
    kept: Vec<usize>,
    steps: Vec<Vec<usize>>,
    along: Vec<usize>,
    along_steps: Vec<Vec<usize>>,
    dtypes: Vec<DType>,
}

impl Divided {
    fn new(inputs: &[&Meta], axes: &[usize], output: &Meta) -> Self {
        let dims = inputs[0].dims();
        let keeps = output.rank() == dims.len();
        let own: Vec<usize> = (0..dims.len()).filter(|d| !axes.contains(d)).collect();
        let of = |from: &[usize], which: &[usize]| which.iter().map(|&d| from[d]).collect::<Vec<_>>();
        let place = |(i, &d): (usize, &usize)| output.layout.stride()[if keeps { d } else { i }];
        let strides = |which: &[usize]| inputs.iter().map(|x| of(x.layout.stride(), which)).collect::<Vec<_>>();
        let (mut of_kept, of_along) = (strides(&own), strides(axes));
        of_kept.push(own.iter().enumerate().map(place).collect());
        let slices = |all: &[Vec<usize>], which: &[usize]| {
            collapsed(&of(dims, which), &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let ((kept, steps), (along, along_steps)) = (slices(&of_kept, &own), slices(&of_along, axes));
        Divided { kept, steps, along, along_steps, dtypes: inputs.iter().map(|x| x.dtype).collect() }
    }

    fn rows(&self) -> Rows {
        let is_beside = |steps: &Vec<usize>| steps.last() == Some(&1);
        let inputs = self.dtypes.len();
        let across = !self.along_steps.iter().any(is_beside) && self.steps[..inputs].iter().any(is_beside);
        let (results, len) = (count(&self.kept), count(&self.along));
        let width = if across { 1 } else { self.width() };
        Rows { across, ..Rows::packed(results, len, width) }
    }

    /// Elements of packs that lie side by side along the dimensions that are reduced.
    fn width(&self) -> usize {
        let dims = [&self.kept[..], &self.along].concat();
        let steps: Vec<_> =
            self.steps.iter().zip(&self.along_steps).map(|(own, rest)| [&own[..], rest].concat()).collect();
        let tensors = self.dtypes.iter().zip(&steps).map(|(dtype, steps)| (*dtype, &steps[..]));
        if self.along.is_empty() { 1 } else { pack::width(&dims, tensors) }
    }
}

impl<'a> Reduced<'a> {
    /// A call's input and output.
    pub fn new(code: &'a Code, input: &Meta, axes: &[usize], output: &Meta) -> Self {
        Reduced::of(code, &[(Place::Input(0), input)], axes, (Place::Output(0), output))
    }

    fn of(code: &'a Code, inputs: &[(Place, &Meta)], axes: &[usize], (place, output): (Place, &Meta)) -> Self {
        let metas: Vec<&Meta> = inputs.iter().map(|(_, meta)| *meta).collect();
        let divided = Divided::new(&metas, axes, output);
        let rows = divided.rows();
        let Divided { kept, steps, along, along_steps, .. } = divided;
        let sizes = |dims: &[usize]| dims.iter().map(|&n| code.size(n)).collect::<Vec<_>>();
        let from = inputs.iter().zip(&steps).zip(&along_steps).map(|(((place, meta), steps), along)| {
            (code.strided(*place, meta.dtype, &kept, steps, false), sizes(along))
        });
        Reduced {
            code,
            from: from.collect(),
            to: code.strided(place, output.dtype, &kept, &steps[inputs.len()], true),
            kept: sizes(&kept),
            along: sizes(&along),
            len: code.size(rows.len),
            rows,
        }
    }

    /// Where in each dimension a result is, and of how many elements it is made.
    pub fn at(&self, row: Value<'a>) -> (Vec<Value<'a>>, Value<'a>) {
        (self.code.unravelled(row, &self.kept), self.len)
    }

    /// Where an element of a result is in a tensor.
    fn place(&self, (x, steps): &(Tensor<'a>, Vec<Value<'a>>), at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        let along = self.code.unravelled(i, &self.along);
        let terms = along.into_iter().zip(steps).map(|(i, &step)| i * step);
        terms.fold(x.place(at), |sum, term| sum + term)
    }

    /// An element of a result, of the first tensor.
    pub fn load(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        let from = &self.from[0];
        from.0.load_at(self.place(from, at, i))
    }

    /// The elements of a result that are a pack, of the first tensor.
    pub fn load_pack(&self, at: &[Value<'a>], pack: &Pack<'a>) -> Vec<Value<'a>> {
        self.load_packs(at, pack).swap_remove(0)
    }

    /// The elements of a result that are a pack, of each tensor.
    fn load_packs(&self, at: &[Value<'a>], pack: &Pack<'a>) -> Vec<Vec<Value<'a>>> {
        let of = |from: &(Tensor<'a>, Vec<Value<'a>>)| {
            let first = self.place(from, at, pack.first);
            match from.1.last() {
                Some(step) if step.is(0) => vec![from.0.load_at(first); pack.width],
                _ => from.0.load_pack_at(first, pack.width),
            }
        };
        self.from.iter().map(of).collect()
    }

    pub fn store(&self, at: &[Value<'a>], value: Value<'a>) {
        self.to.store(at, value.to(self.to.dtype.compute()));
    }
}

/// The results of a reduction of some axes, and the elements of each.
pub(super) fn reduced_rows(input: &Meta, axes: &[usize], output: &Meta) -> Rows {
    Divided::new(&[input], axes, output).rows()
}

/// The elements of each part of a reduction of which there are too few to occupy a GPU; none where they are not few, or not long.
pub(super) fn parts(rows: Rows) -> Option<usize> {
    /// Elements that are worth a team.
    const LEAST: usize = 1024;
    let parts = (GROUPS / rows.groups().max(1)).min(rows.len / LEAST);
    (parts > 1).then(|| rows.len.div_ceil(parts).next_multiple_of(rows.width))
}

/// Makes a pack of terms of a pack of each tensor.
type Make<'t> = dyn for<'a> Fn(&'a Code, Vec<Vec<Value<'a>>>) -> Vec<Value<'a>> + 't;

/// What is reduced: tensors in memory, and what is made of their elements.
pub(super) struct Terms<'t> {
    pub inputs: Vec<(Place, &'t Meta)>,
    pub made: &'t Make<'t>,
}

pub(crate) fn reduce(call: &Call<'_>, reduce: &Reduce) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let terms = Terms { inputs: vec![(Place::Input(0), input)], made: &|_, mut packs| packs.swap_remove(0) };
    reduced(call.target, &terms, reduce, &traced(call, reduce)?, (Place::Output(0), output))
}

/// The launches of a reduction.
pub(super) fn reduced(
    target: &Target,
    terms: &Terms<'_>,
    reduce: &Reduce,
    of: &Reduction,
    output: (Place, &Meta),
) -> Result<Program> {
    let metas: Vec<&Meta> = terms.inputs.iter().map(|(_, meta)| *meta).collect();
    let rows = Divided::new(&metas, &reduce.axes, output.1).rows();
    if let Some(len) = parts(rows) {
        return by_parts(target, terms, reduce, of, output, (rows, len));
    }
    let mut program = Program::default();
    program.launch(target, |k| {
        let from = Reduced::of(k, &terms.inputs, &reduce.axes, output);
        k.teams(
            rows,
            |row| from.at(row),
            |team| {
                let all = team.fold_packs(
                    k.call(&of.identity, &[]),
                    |line, pack| before(k, of, (terms.made)(k, from.load_packs(&line.at, pack))),
                    |a, b| k.call(&of.combine, &[a, b]),
                );
                team.once(|line| from.store(&line.at, k.call(&of.after, &[all.of(line)])));
            },
        );
        Ok(())
    })?;
    Ok(program)
}

/// What a reduction computes.
pub(super) fn traced(call: &Call<'_>, reduce: &Reduce) -> Result<Reduction> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let len = reduce.axes.iter().map(|&axis| input.dims()[axis]).product();
    let traced = reduce.trace(input.dtype, output.dtype, len, call.target.arithmetic());
    traced.ok_or_else(|| call.refuse("dtype", input.dtype.as_str(), "dtypes that have a trace"))
}

/// What elements are before they are combined.
pub(super) fn before<'a>(k: &'a Code, of: &Reduction, elements: Vec<Value<'a>>) -> Vec<Value<'a>> {
    mapped(elements, |x| k.call(&of.before, &[x]))
}

/// The parts' results in memory, part by part, and then those of the parts.
fn by_parts(
    target: &Target,
    terms: &Terms<'_>,
    reduce: &Reduce,
    of: &Reduction,
    output: (Place, &Meta),
    (rows, len): (Rows, usize),
) -> Result<Program> {
    let count = rows.len.div_ceil(len);
    let dtype = of.identity.node(of.identity.results()[0]).dtype;
    let mut program = Program::default();
    let place = program.scratch(dtype, rows.count * count);
    program.launch(target, |k| {
        let from = Reduced::of(k, &terms.inputs, &reduce.axes, output);
        let found = k.strided(place, dtype, &[rows.count * count], &[1], true);
        let (results, most, all) = (k.size(rows.count), k.size(len), k.size(rows.len));
        k.teams(
            Rows { count: rows.count * count, len, equal: false, ..rows },
            |row| {
                let first = row / results * most;
                ((from.at(row % results).0, first), (all - first).min(most))
            },
            |team| {
                let all = team.fold_packs(
                    k.call(&of.identity, &[]),
                    |line, pack| {
                        let (at, first) = &line.at;
                        before(k, of, (terms.made)(k, from.load_packs(at, &pack.after(*first))))
                    },
                    |a, b| k.call(&of.combine, &[a, b]),
                );
                team.once(|line| found.store(&[line.row], all.of(line)));
            },
        );
        Ok(())
    })?;
    program.launch(target, |k| {
        let to = Reduced::of(k, &terms.inputs, &reduce.axes, output);
        let found = k.strided(place, dtype, &[count, rows.count], &[rows.count, 1], false);
        let number = k.size(count);
        k.teams(
            Rows::new(rows.count, count, rows.count > 1),
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
