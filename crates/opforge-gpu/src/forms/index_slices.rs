//! Slices read at integer indices: a thread reads an index, or a tuple of them, once for several elements of the slice.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Special;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::{Tensor, collapsed};
use crate::value::{Value, Var};

use super::index::sought;
use super::moved::Words;

/// Lengths in as few dimensions as go, and for each tensor that has these its strides.
type Joined = (Vec<usize>, Vec<Vec<usize>>);

/// The dimensions of a result: those before the axes that indices name places in, those of indices, and those of slices.
struct Slices<'a> {
    ids: &'a [&'a Meta],
    x: Words,
    y: Words,
    /// Strides of the input and the output.
    before: Joined,
    /// Strides of each tensor of indices and the output.
    own: Joined,
    /// Strides of the input and the output.
    after: Joined,
}

/// Reads slices that indices of `taken` dimensions name along as many axes as there are tensors of indices.
pub(super) fn read(call: &Call<'_>, axis: usize, taken: usize, special: Special) -> Result<Program> {
    let of = Slices::new(call, axis, taken);
    let each = of.elements_of_thread();
    let mut shared = of.dims();
    if let (true, Some(last)) = (each > 1, shared.last_mut()) {
        *last /= each;
    }
    let (mut program, lengths) = (Program::default(), &call.inputs[0].dims()[axis..]);
    // Who waits for what may fail does not wait for slices then.
    program.launch(call.target, |k| {
        let ids = of.indices(k);
        k.each_of(&of.own.0, |own| {
            ids.iter().zip(lengths).for_each(|(ids, &len)| sought(k, ids.load(own), len, special).check(k));
        });
        Ok(())
    })?;
    program.launch(call.target, |k| {
        let (x, y, ids) = (of.input(k), of.output(k), of.indices(k));
        let steps: Vec<Value<'_>> = of.x.stride[axis..].iter().take(ids.len()).map(|&step| k.size(step)).collect();
        // From one of a thread's elements to the next.
        let apart = k.size(of.row() / each);
        let [step_x, step_y] = [&x, &y].map(|of| of.steps.last().map_or(k.index(0), |&step| step * apart));
        k.each_of(&shared, |at| {
            let (before, rest) = at.split_at(of.before.0.len());
            let (own, after) = rest.split_at(of.own.0.len());
            let (mut from, mut inside) = (x.place(&[before, after].concat()), k.constant(true, DType::Bool));
            for ((ids, &len), &step) in ids.iter().zip(lengths).zip(&steps) {
                let found = sought(k, ids.load(own), len, special);
                from = from + found.place * step;
                inside = inside & found.inside;
            }
            // All are read before any is written, so that no read waits for a write.
            let elements: Vec<Var<'_>> = (0..each).map(|_| k.var(k.constant(0i64, of.x.dtype))).collect();
            k.when(inside, || {
                elements.iter().enumerate().for_each(|(n, element)| element.set(x.load_at(from + step_x * n)));
            });
            let to = y.place(at);
            elements.iter().enumerate().for_each(|(n, element)| y.store_at(to + step_y * n, element.get()));
        });
        Ok(())
    })?;
    Ok(program)
}

impl<'a> Slices<'a> {
    fn new(call: &Call<'a>, axis: usize, taken: usize) -> Self {
        let (ids, x, y) = (&call.inputs[1..], Words::of(call.inputs[0]), Words::of(call.outputs[0]));
        let end = axis + taken;
        let strides = ids.iter().map(|ids| ids.layout.stride()).chain([&y.stride[axis..end]]);
        Slices {
            ids,
            before: collapsed(&y.dims[..axis], &[&x.stride[..axis], &y.stride[..axis]]),
            own: collapsed(&y.dims[axis..end], &strides.collect::<Vec<_>>()),
            after: collapsed(&y.dims[end..], &[&x.stride[axis + ids.len()..], &y.stride[end..]]),
            x,
            y,
        }
    }

    /// All dimensions of the result.
    fn dims(&self) -> Vec<usize> {
        [&self.before.0[..], &self.own.0, &self.after.0].concat()
    }

    /// Elements of the innermost dimension of slices.
    fn row(&self) -> usize {
        self.after.0.last().copied().unwrap_or(1)
    }

    /// How many elements of a row a thread reads: neighbouring threads read neighbouring elements, and there are threads enough.
    fn elements_of_thread(&self) -> usize {
        let (row, all) = (self.row(), self.dims().iter().product::<usize>());
        [8, 4, 2].into_iter().find(|n| row.is_multiple_of(*n) && row >= 32 * n && all >= n << 16).unwrap_or(1)
    }

    /// The input, without the axes that indices name places in.
    fn input<'k>(&self, k: &'k Code) -> Tensor<'k> {
        let dims = [&self.before.0[..], &self.after.0].concat();
        let stride = [&self.before.1[0][..], &self.after.1[0]].concat();
        k.strided(Place::Input(0), self.x.dtype, &dims, &stride, false)
    }

    fn output<'k>(&self, k: &'k Code) -> Tensor<'k> {
        let stride = [&self.before.1[1][..], &self.own.1[self.ids.len()], &self.after.1[1]].concat();
        k.strided(Place::Output(0), self.y.dtype, &self.dims(), &stride, true)
    }

    fn indices<'k>(&self, k: &'k Code) -> Vec<Tensor<'k>> {
        let own =
            |(i, meta): (usize, &&Meta)| k.strided(Place::Input(i + 1), meta.dtype, &self.own.0, &self.own.1[i], false);
        self.ids.iter().enumerate().map(own).collect()
    }
}
