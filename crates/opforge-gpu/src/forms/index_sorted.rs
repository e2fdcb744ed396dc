//! Elements written at integer indices that are sorted first by the places they name: each place has a thread, which goes through those that name it.

use opforge_core::{Meta, Result};

use crate::code::Code;
use crate::kernel::INDEX;
use crate::program::{Place, Program};
use crate::value::Value;

use super::index::{Named, positions};
use super::index_write::{Writing, combined};
use super::merge_sort::{Runs, Unsorted, greatest_key, sort_lines};

pub(super) fn write(of: &Writing<'_>, program: &mut Program) -> Result<()> {
    // Of elements each line has its own indices; of slices and tuples there is one line.
    let (dims, axis) = match of.form.named {
        Named::Elements => (of.ids[0].dims().to_vec(), of.form.axis),
        Named::Slices | Named::Tuples => (vec![of.count()], 0),
    };
    let meta = Meta::contiguous(INDEX, dims);
    let place = name_places(of, program)?;
    let sorted =
        sort_lines(program, of.call.target, &Unsorted { place, meta: &meta, axis, descending: false }, of.count())?;
    write_runs(of, program, &sorted)
}

/// The place that each index, or tuple of them, names, as a number; the greatest where it names none.
fn name_places(of: &Writing<'_>, program: &mut Program) -> Result<Place> {
    let (form, dims) = (of.form, of.ids[0].dims());
    let places = program.scratch(INDEX, of.ids[0].elem_count());
    program.launch(of.call.target, |k| {
        let (ids, to) = (of.indices(k), k.strided(places, INDEX, &[], &[], true));
        let lengths: Vec<Value<'_>> = of.lengths().iter().map(|&len| k.size(len)).collect();
        k.each(of.ids[0].elem_count(), |i| {
            let own = k.unravelled(i, &dims.iter().map(|&len| k.size(len)).collect::<Vec<_>>());
            let at = match form.named {
                Named::Elements => own,
                Named::Slices | Named::Tuples => [vec![k.index(0); form.axis], own].concat(),
            };
            let (named, inside) = positions(k, &ids, form.named, form.special, of.lengths(), &at, form.axis);
            to.store_at(i, inside.choose(ravelled(k, &named, &lengths), greatest_key(k, INDEX)));
        });
        Ok(())
    })?;
    Ok(places)
}

/// The number of an element, in row-major order.
fn ravelled<'a>(k: &'a Code, at: &[Value<'a>], dims: &[Value<'a>]) -> Value<'a> {
    at.iter().zip(dims).fold(k.index(0), |number, (&i, &len)| number * len + i)
}

/// For every sorted index, and every element beside, a thread; that of the first of equal ones goes on through them all.
fn write_runs(of: &Writing<'_>, program: &mut Program, sorted: &Runs) -> Result<()> {
    let (axis, count) = (of.form.axis, of.count());
    let dims = [&of.visited[..axis], &[count], &of.visited[axis + of.along..]].concat();
    program.launch(of.call.target, |k| {
        let (y, source, walked) = (of.output(k), of.source(k), of.walked(k));
        let vector = |place| k.strided(place, INDEX, &[], &[], false);
        let (keys, order) = (vector(sorted.keys), vector(sorted.order));
        let (stride, count) = (k.size(sorted.stride), k.size(count));
        let lengths: Vec<Value<'_>> = of.lengths().iter().map(|&len| k.size(len)).collect();
        k.each_of(&dims, |at| {
            let (before, first, after) = (&at[..axis], at[axis], &at[axis + 1..]);
            let line = line(of, k, before, after) * stride;
            let key = keys.load_at(line + first);
            let previous = k.index(0).lt(first).choose(first - 1, first);
            let is_first = first.equals(k.index(0)) | keys.load_at(line + previous).differs(key);
            k.when(is_first & key.differs(greatest_key(k, INDEX)), || {
                let place = y.place(&[before, &k.unravelled(key, &lengths), after].concat());
                let (all, next) = (k.var(y.load_at(place)), k.var(first));
                k.forever(|| {
                    let own = k.unravelled(order.load_at(line + next.get()), &walked);
                    all.set(combined(k, of.form.how, all.get(), source.load(&[before, &own, after].concat())));
                    next.add(k.index(1));
                    k.leave(next.get().equals(count));
                    k.leave(keys.load_at(line + next.get()).differs(key));
                });
                y.store_at(place, all.get());
            });
        });
        Ok(())
    })
}

/// The number of the line of indices that is for an element beside.
fn line<'a>(of: &Writing<'_>, k: &'a Code, before: &[Value<'a>], after: &[Value<'a>]) -> Value<'a> {
    if of.form.named != Named::Elements {
        return k.index(0);
    }
    // Words of elements share an index.
    let beside = [before, &after[..of.ids[0].rank() - 1 - before.len()]].concat();
    let lengths = of.ids[0].dims().iter().enumerate().filter(|(d, _)| *d != of.form.axis);
    ravelled(k, &beside, &lengths.map(|(_, &len)| k.size(len)).collect::<Vec<_>>())
}
