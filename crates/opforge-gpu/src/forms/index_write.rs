//! Elements written at integer indices: a thread for each line of indices, in order, so that results are the same at every run.

use opforge_core::{DType, Result};
use opforge_tile::forms::{Combine, OnMax};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::index::{Named, check_indices, positions};
use super::moved::Words;

/// How elements are written.
pub(crate) struct Written {
    pub named: Named,
    pub axis: usize,
    pub on_max: OnMax,
    pub how: Combine,
}

/// A tensor's dtype, lengths and strides.
type Seen = (DType, Vec<usize>, Vec<usize>);

pub(crate) fn write(call: &Call<'_>, form: &Written) -> Result<Program> {
    let (base, output, last) = (call.inputs[0], call.outputs[0], call.inputs.len() - 1);
    let (ids, source) = (&call.inputs[1..last], call.inputs[last]);
    check_indices(call, ids)?;
    let moves = form.how == Combine::Set;
    if !moves {
        call.real(&[base])?;
    }
    let seen = |meta: &opforge_core::Meta| -> Seen {
        if !moves {
            return (meta.dtype, meta.dims().to_vec(), meta.layout.stride().to_vec());
        }
        let words = Words::of(meta);
        (words.dtype, words.dims, words.stride)
    };
    let (from, to, all) = (seen(source), seen(output), seen(base));
    let mut program = Program::default();
    program.launch(call.target, |k| {
        let x = k.strided(Place::Input(0), all.0, &all.1, &all.2, false);
        let y = k.strided(Place::Output(0), to.0, &to.1, &to.2, true);
        k.each_of(&to.1, |at| y.store(at, x.load(at)));
        Ok(())
    })?;
    if source.elem_count() == 0 || ids.iter().any(|ids| ids.elem_count() == 0) {
        return Ok(program);
    }
    // Of elements, as many are written as there are indices; a source may have more.
    let mut visited = from.1.clone();
    if form.named == Named::Elements {
        visited[..ids[0].rank()].copy_from_slice(ids[0].dims());
    }
    let along = if form.named == Named::Slices { ids[0].rank() } else { 1 };
    let (axis, taken) = (form.axis, ids.len());
    let lengths = &base.dims()[axis..axis + taken];
    let beside = [&visited[..axis], &visited[axis + along..]].concat();
    program.launch(call.target, |k| {
        let y = k.strided(Place::Output(0), to.0, &to.1, &to.2, true);
        let source = k.strided(Place::Input(last), from.0, &from.1, &from.2, false);
        let ids = ids.iter().enumerate().map(|(i, meta)| k.input(i + 1, meta)).collect::<Vec<Tensor<'_>>>();
        let walked: Vec<Value<'_>> = visited[axis..axis + along].iter().map(|&n| k.size(n)).collect();
        let count = k.size(visited[axis..axis + along].iter().product());
        k.each_of(&beside, |other| {
            k.repeat(count, |i| {
                let own = k.unravelled(i, &walked);
                let at = [&other[..axis], &own, &other[axis..]].concat();
                let (places, inside) = positions(k, &ids, form.named, form.on_max, lengths, &at, axis);
                k.when(inside, || {
                    let place = y.place(&[&other[..axis], &places, &other[axis..]].concat());
                    let (new, old) = (source.load(&at), y.load_at(place));
                    y.store_at(place, combined(k, form.how, old, new));
                });
            });
        });
        Ok(())
    })?;
    Ok(program)
}

/// What is there afterwards.
fn combined<'a>(k: &'a Code, how: Combine, old: Value<'a>, new: Value<'a>) -> Value<'a> {
    let truth = old.dtype() == DType::Bool;
    let number = |x: Value<'a>| if truth { x.to(DType::U8) } else { x };
    let (a, b) = (number(old), number(new));
    let result = match how {
        Combine::Set => return new,
        Combine::Add if truth => return old | new,
        Combine::Multiply if truth => return old & new,
        Combine::Add => a + b,
        Combine::Multiply => a * b,
        Combine::Least => a.min(b),
        Combine::Greatest => a.max(b),
    };
    if truth { result.differs(k.constant(0i64, DType::U8)) } else { result }
}
