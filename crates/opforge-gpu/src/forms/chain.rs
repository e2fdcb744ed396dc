//! Functions of single elements in one kernel, and what they are joined with: what passes between them stays in registers.

use opforge::devices::{Link, Operand};
use opforge::operator::{Lowering, Reduce};
use opforge_core::{DType, Meta, Result, Scalar};
use opforge_tile::forms::Move;
use opforge_trace::Expression;

use crate::code::Code;
use crate::kernel::Source;
use crate::lower::{Call, Target};
use crate::pack;
use crate::program::{Place, Program};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

use super::reduce::{self, Terms};
use super::row_chain::Chain;

/// What a link does with elements.
pub(super) enum Function {
    Constant(Scalar),
    Copy,
    Traced(Expression),
}

impl Function {
    pub fn of(call: &Call<'_>, lowering: &Lowering) -> Result<Function> {
        call.real(call.inputs)?;
        call.real(call.outputs)?;
        let dtypes: Vec<DType> = call.inputs.iter().map(|input| input.dtype).collect();
        match lowering {
            Lowering::Fill(value) => Ok(Function::Constant(*value)),
            Lowering::Move(Move::Copy) => Ok(Function::Copy),
            Lowering::Tile(tile) if !tile.refuses_elements(dtypes[0]) => {
                let traced = tile.trace(&dtypes, call.target.arithmetic());
                let has_all =
                    |of: &Expression| of.results().len() == call.outputs.len() && of.inputs().len() == dtypes.len();
                let lacks = || call.refuse("dtype", dtypes[0].as_str(), "dtypes that have a trace");
                traced.filter(has_all).map(Function::Traced).ok_or_else(lacks)
            }
            other => Err(call.refuse("form", format!("{other:?}"), "functions of single elements")),
        }
    }

    pub fn apply<'a>(&self, code: &'a Code, elements: &[Value<'a>], output: DType) -> Vec<Value<'a>> {
        match self {
            Function::Constant(value) => vec![code.constant(value.cast(output), output.compute())],
            Function::Copy => elements.to_vec(),
            Function::Traced(expression) => code.apply(expression, elements).0,
        }
    }
}

/// A tensor in memory, by its place and whether it is written.
type InMemory<'a> = (Place, &'a Meta, bool);

/// All tensors in memory of the links, in their order.
fn in_memory<'a>(links: &'a [Link<'a>]) -> Vec<InMemory<'a>> {
    let mut all = Vec::new();
    for link in links {
        for (operand, meta) in &link.inputs {
            if let Operand::Given(i) = operand {
                all.push((Place::Input(*i), *meta, false));
            }
        }
        let kept = link.outputs.iter().filter_map(|(meta, kept)| Some((Place::Output((*kept)?), *meta, true)));
        all.extend(kept);
    }
    all
}

/// What each link does.
fn functions(target: &Target, links: &[Link<'_>]) -> Result<Vec<Function>> {
    let function = |link: &Link<'_>| {
        let inputs: Vec<&Meta> = link.inputs.iter().map(|(_, meta)| *meta).collect();
        let outputs: Vec<&Meta> = link.outputs.iter().map(|(meta, _)| *meta).collect();
        let call = Call { target, op: link.op, inputs: &inputs, outputs: &outputs };
        call.check_sizes()?;
        Function::of(&call, &link.lowering)
    };
    links.iter().map(function).collect()
}

/// The launches that carry out all links: of elements; of elements that are reduced at last; or of rows too.
pub(crate) fn chain(target: &Target, links: &[Link<'_>]) -> Result<Program> {
    let is_of_elements =
        |link: &Link<'_>| !matches!(link.lowering, Lowering::Rows(_) | Lowering::Normalize(_) | Lowering::Reduce(_));
    let passes = |link: &Link<'_>| is_of_elements(link) && link.outputs.iter().all(|(_, kept)| kept.is_none());
    match links {
        _ if links.iter().all(is_of_elements) => elements(target, links),
        [before @ .., last]
            if let Lowering::Reduce(reduce) = &last.lowering
                && before.iter().all(passes) =>
        {
            reduction(target, before, (last, reduce))
        }
        _ => Chain::new(target, links)?.program(target),
    }
}

/// A reduction of what links make.
fn reduction(target: &Target, before: &[Link<'_>], (last, reduce): (&Link<'_>, &Reduce)) -> Result<Program> {
    let (inputs, (output, kept)) = ([last.inputs[0].1], last.outputs[0]);
    let call = Call { target, op: last.op, inputs: &inputs, outputs: &[output] };
    call.check_sizes()?;
    call.real(&[inputs[0], output])?;
    let (functions, traced) = (functions(target, before)?, reduce::traced(&call, reduce)?);
    let stretched = |(place, meta, _): &InMemory<'_>| {
        let layout = meta.layout.broadcast_as(inputs[0].shape(), last.op)?;
        Ok((*place, Meta { dtype: meta.dtype, layout }))
    };
    let memory = in_memory(before).iter().map(stretched).collect::<Result<Vec<_>>>()?;
    let (Operand::Made(by, number), Some(kept)) = (last.inputs[0].0, kept) else {
        return Err(call.refuse("operands", "a reduction of what is in memory", "one of what links make"));
    };
    let terms = Terms {
        inputs: memory.iter().map(|(place, meta)| (*place, meta)).collect(),
        made: &|k, packs| {
            let element = |i: usize| carry_out(k, before, &functions, packs.iter().map(|pack| pack[i])).0[by][number];
            (0..packs[0].len()).map(element).collect()
        },
    };
    reduce::reduced(target, &terms, reduce, &traced, (Place::Output(kept), output))
}

/// The launch that carries out links of single elements.
fn elements(target: &Target, links: &[Link<'_>]) -> Result<Program> {
    let functions = functions(target, links)?;
    let (memory, shape) = (in_memory(links), links[0].outputs[0].0.shape());
    let layouts = memory.iter().map(|(_, meta, _)| meta.layout.broadcast_as(shape, links[0].op));
    let layouts = layouts.collect::<Result<Vec<_>>>()?;
    let strides: Vec<&[usize]> = layouts.iter().map(|layout| layout.stride()).collect();
    let (dims, steps) = collapsed(shape.dims(), &strides);
    let mut program = Program::default();
    program.launch(target, |k| {
        let tensors = memory.iter().zip(&steps);
        let tensors: Vec<Tensor<'_>> = tensors
            .map(|((place, meta, written), steps)| k.strided(*place, meta.dtype, &dims, steps, *written))
            .collect();
        let width = pack::width(&dims, memory.iter().zip(&steps).map(|((_, meta, _), steps)| (meta.dtype, &steps[..])));
        k.each_of(&pack::in_packs(&dims, width), |at| {
            let given = memory.iter().zip(&tensors).filter(|((.., written), _)| !written);
            let given: Vec<Vec<Value<'_>>> = given.map(|(_, tensor)| tensor.load_pack(at, width)).collect();
            let made = memory.iter().zip(&tensors).filter(|((.., written), _)| *written);
            let made: Vec<&Tensor<'_>> = made.map(|(_, tensor)| tensor).collect();
            let mut results = vec![Vec::new(); made.len()];
            for i in 0..width {
                let elements = given.iter().map(|pack| pack[i]);
                for (results, result) in results.iter_mut().zip(carry_out(k, links, &functions, elements).1) {
                    results.push(result);
                }
            }
            for (tensor, results) in made.iter().zip(&results) {
                tensor.store_pack(at, results);
            }
        });
        Ok(())
    })?;
    Ok(program)
}

/// One element of every output, as further links read it, and of those that are kept, of an element of every input in memory: both in the order of
/// [`in_memory`].
fn carry_out<'a>(
    code: &'a Code,
    links: &[Link<'_>],
    functions: &[Function],
    mut given: impl Iterator<Item = Value<'a>>,
) -> (Vec<Vec<Value<'a>>>, Vec<Value<'a>>) {
    let (mut made, mut stored): (Vec<Vec<Value<'a>>>, _) = (Vec::new(), Vec::new());
    for (link, function) in links.iter().zip(functions) {
        let elements: Vec<Value<'a>> = link
            .inputs
            .iter()
            .map(|(operand, _)| match *operand {
                Operand::Given(_) => given.next().expect("an element for each that is in memory"),
                Operand::Made(link, output) => made[link][output],
            })
            .collect();
        let results = function.apply(code, &elements, link.outputs[0].0.dtype);
        let mut kept = Vec::new();
        for ((meta, output), result) in link.outputs.iter().zip(results) {
            let result = result.to(meta.dtype.compute());
            if output.is_some() {
                stored.push(result);
            }
            kept.push(rounded(code, result, meta.dtype));
        }
        made.push(kept);
    }
    (made, stored)
}

/// A value as further links read it: as it would be in memory.
pub(super) fn rounded<'a>(code: &'a Code, value: Value<'a>, dtype: DType) -> Value<'a> {
    if dtype == dtype.compute() { value } else { code.defined(value.dtype(), Source::Rounded(dtype), &[value.id]) }
}
