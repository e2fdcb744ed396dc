//! Elements written at integer indices, in their order, so that results are the same at every run: by a thread for each line of indices, or for each place that
//! is named, once indices are sorted.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::{Combine, Special};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::index::{Named, check_indices, positions};
use super::index_sorted;
use super::moved::Words;

/// How elements are written.
pub(crate) struct Written {
    pub named: Named,
    pub axis: usize,
    pub special: Special,
    pub how: Combine,
}

/// A tensor's dtype, lengths and strides.
pub(super) type Seen = (DType, Vec<usize>, Vec<usize>);

/// A call that writes: the tensors as they are written, and what is written of the source.
pub(super) struct Writing<'a> {
    pub call: &'a Call<'a>,
    pub form: &'a Written,
    pub ids: &'a [&'a Meta],
    pub source: Seen,
    pub output: Seen,
    /// The lengths of what is written: of elements, as many as there are indices; a source may have more.
    pub visited: Vec<usize>,
    /// Its dimensions that indices go through, from the axis on.
    pub along: usize,
}

pub(crate) fn write(call: &Call<'_>, form: &Written) -> Result<Program> {
    let (base, last) = (call.inputs[0], call.inputs.len() - 1);
    let (ids, source) = (&call.inputs[1..last], call.inputs[last]);
    check_indices(call, ids)?;
    let moves = form.how == Combine::Set;
    if !moves {
        call.real(&[base])?;
    }
    let seen = |meta: &Meta| -> Seen {
        if !moves {
            return (meta.dtype, meta.dims().to_vec(), meta.layout.stride().to_vec());
        }
        let words = Words::of(meta);
        (words.dtype, words.dims, words.stride)
    };
    let (from, to, all) = (seen(source), seen(call.outputs[0]), seen(base));
    let mut program = Program::default();
    program.launch(call.target, |k| {
        let x = k.strided(Place::Input(0), all.0, &all.1, &all.2, false);
        let y = k.strided(Place::Output(0), to.0, &to.1, &to.2, true);
        k.each_of(&to.1, |at| y.store(at, x.load(at)));
        Ok(())
    })?;
    program.launches[0].copies = base.layout.stride() == call.outputs[0].layout.stride();
    if source.elem_count() == 0 || ids.iter().any(|ids| ids.elem_count() == 0) {
        return Ok(program);
    }
    let mut visited = from.1.clone();
    if form.named == Named::Elements {
        visited[..ids[0].rank()].copy_from_slice(ids[0].dims());
    }
    let along = if form.named == Named::Slices { ids[0].rank() } else { 1 };
    let writing = Writing { call, form, ids, source: from, output: to, visited, along };
    if writing.count() >= 64 && writing.beside().iter().product::<usize>() < 1 << 16 {
        index_sorted::write(&writing, &mut program)?;
    } else {
        writing.in_order(&mut program)?;
    }
    Ok(program)
}

impl<'a> Writing<'a> {
    /// How many indices there are for each thing that is written.
    pub fn count(&self) -> usize {
        self.visited[self.form.axis..][..self.along].iter().product()
    }

    /// The lengths of the dimensions beside those that indices go through.
    pub fn beside(&self) -> Vec<usize> {
        [&self.visited[..self.form.axis], &self.visited[self.form.axis + self.along..]].concat()
    }

    /// The lengths of the axes that indices name places in.
    pub fn lengths(&self) -> &'a [usize] {
        &self.call.inputs[0].dims()[self.form.axis..][..self.ids.len()]
    }

    pub fn output<'k>(&self, k: &'k Code) -> Tensor<'k> {
        k.strided(Place::Output(0), self.output.0, &self.output.1, &self.output.2, true)
    }

    pub fn source<'k>(&self, k: &'k Code) -> Tensor<'k> {
        let place = Place::Input(self.ids.len() + 1);
        k.strided(place, self.source.0, &self.source.1, &self.source.2, false)
    }

    pub fn indices<'k>(&self, k: &'k Code) -> Vec<Tensor<'k>> {
        self.ids.iter().enumerate().map(|(i, meta)| k.input(i + 1, meta)).collect()
    }

    /// The lengths of the dimensions that indices go through.
    pub fn walked<'k>(&self, k: &'k Code) -> Vec<Value<'k>> {
        self.visited[self.form.axis..][..self.along].iter().map(|&n| k.size(n)).collect()
    }

    /// A thread for each element beside them goes through all indices.
    fn in_order(&self, program: &mut Program) -> Result<()> {
        let &Written { named, axis, special, how } = self.form;
        program.launch(self.call.target, |k| {
            let (y, source, ids) = (self.output(k), self.source(k), self.indices(k));
            let walked = self.walked(k);
            k.each_of(&self.beside(), |other| {
                k.repeat(k.size(self.count()), |i| {
                    let own = k.unravelled(i, &walked);
                    let at = [&other[..axis], &own, &other[axis..]].concat();
                    let (places, inside) = positions(k, &ids, named, special, self.lengths(), &at, axis);
                    k.when(inside, || {
                        let place = y.place(&[&other[..axis], &places, &other[axis..]].concat());
                        let (new, old) = (source.load(&at), y.load_at(place));
                        y.store_at(place, combined(k, how, old, new));
                    });
                });
            });
            Ok(())
        })
    }
}

/// What is there afterwards.
pub(super) fn combined<'a>(k: &'a Code, how: Combine, old: Value<'a>, new: Value<'a>) -> Value<'a> {
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
