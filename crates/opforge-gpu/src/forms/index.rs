//! Elements read at integer indices.

use opforge_core::{DType, Error, Meta, Result};
use opforge_tile::forms::{Combine, Index, Indices, Running, Special};

use crate::code::Code;
use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::{Fault, Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::index_slices;
use super::index_write::{self, Written};
use super::moved::Words;
use super::scan::States;
use super::scan_groups::{self, Ends};

pub(crate) fn index(call: &Call<'_>, form: &Index) -> Result<Program> {
    let whole = |indices: Indices| match indices.part {
        None => Ok(indices.special),
        Some(_) => Err(call.refuse("form", "indices into a longer axis", "indices into the axis")),
    };
    match *form {
        Index::Gather { axis, indices } => read(call, Named::Elements, axis, whole(indices)?),
        Index::Select { axis, indices } => read(call, Named::Slices, axis, whole(indices)?),
        Index::Get { axis } => read(call, Named::Tuples, axis, Special::NegativeFromEnd),
        Index::Scatter { axis, indices, how } => {
            let special = whole(indices)?;
            index_write::write(call, &Written { named: Named::Elements, axis, special, how })
        }
        Index::AddSlices { axis, indices } => {
            let special = whole(indices)?;
            index_write::write(call, &Written { named: Named::Slices, axis, special, how: Combine::Add })
        }
        Index::Put { axis, adds } => {
            let how = if adds { Combine::Add } else { Combine::Set };
            index_write::write(call, &Written { named: Named::Tuples, axis, special: Special::NegativeFromEnd, how })
        }
        Index::NonZero => nonzero(call),
        Index::Exchange => exchange(call),
    }
}

/// What indices name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Named {
    /// An element each, along the axis.
    Elements,
    /// A slice each, along the axis.
    Slices,
    /// A slice a tuple, along several axes.
    Tuples,
}

/// Where an index stands.
pub(crate) struct Position<'a> {
    /// The position in its axis.
    pub place: Value<'a>,
    /// Whether there is such a place.
    pub inside: Value<'a>,
    /// Whether there is none, and it is not to be skipped.
    wrong: Value<'a>,
    fault: Fault,
    found: Value<'a>,
}

/// An index of a dtype as a position in an axis.
pub(crate) fn sought<'a>(k: &'a Code, id: Value<'a>, len: usize, special: Special) -> Position<'a> {
    let from_end = special == Special::NegativeFromEnd;
    // Of 32 bits where they are enough, so that most indices need no wider integers.
    let (dtype, wide) = (id.dtype(), id.dtype().size_in_bytes() == 8);
    let compared = if wide {
        dtype
    } else if dtype.is_signed() {
        DType::I32
    } else {
        DType::U32
    };
    let (x, zero, length) = (id.to(compared), k.constant(0i64, compared), k.parameter(len as u32).to(compared));
    let mut place = x;
    if from_end && dtype.is_signed() {
        place = x.lt(zero).choose(x + length, x);
    }
    let mut inside = place.lt(length);
    if dtype.is_signed() {
        inside = inside & zero.le(place);
    }
    let skipped = (special == Special::LargestSkips).then(|| x.equals(k.constant_bits(greatest(dtype), compared)));
    Position {
        place: place.to(INDEX),
        inside,
        wrong: skipped.map_or(!inside, |skipped| !inside & !skipped),
        fault: if from_end { Fault::FromEnd(len) } else { Fault::Index(len) },
        found: if compared == DType::I32 { id.to(DType::I32) } else { x },
    }
}

impl Position<'_> {
    /// Fails where the index is wrong.
    pub fn check(self, k: &Code) {
        k.fail(self.wrong, self.fault, self.found);
    }
}

/// An index of a dtype as a position in an axis, and whether it stands for a place there. What stands for none, and is not to be skipped, fails.
pub(crate) fn position<'a>(k: &'a Code, id: Value<'a>, len: usize, special: Special) -> (Value<'a>, Value<'a>) {
    let found = sought(k, id, len, special);
    let (place, inside) = (found.place, found.inside);
    found.check(k);
    (place, inside)
}

/// The bits of a dtype's largest integer.
fn greatest(dtype: DType) -> u64 {
    let bits = 8 * dtype.size_in_bytes() as u32 - u32::from(dtype.is_signed());
    u64::MAX >> (64 - bits)
}

/// Indices must be integers.
pub(crate) fn check_indices(call: &Call<'_>, ids: &[&Meta]) -> Result<()> {
    match ids.iter().find(|ids| !ids.dtype.is_int()) {
        Some(ids) => Err(Error::dtype(call.op, "indices", ids.dtype, "an integer dtype")),
        None => Ok(()),
    }
}

/// The indices of what is read or written, from where it stands: positions in the axes they name, and whether there is such a place.
pub(crate) fn positions<'a>(
    k: &'a Code,
    ids: &[Tensor<'a>],
    named: Named,
    special: Special,
    lengths: &[usize],
    at: &[Value<'a>],
    axis: usize,
) -> (Vec<Value<'a>>, Value<'a>) {
    let (mut places, mut inside) = (Vec::new(), k.constant(true, DType::Bool));
    for (ids, &len) in ids.iter().zip(lengths) {
        let own = match named {
            Named::Elements => &at[..ids.dims.len()],
            Named::Slices => &at[axis..axis + ids.dims.len()],
            Named::Tuples => &at[axis..axis + 1],
        };
        let (place, here) = position(k, ids.load(own), len, special);
        places.push(place);
        inside = inside & here;
    }
    (places, inside)
}

fn read(call: &Call<'_>, named: Named, axis: usize, special: Special) -> Result<Program> {
    check_indices(call, &call.inputs[1..])?;
    match named {
        Named::Elements => read_elements(call, axis, special),
        Named::Slices => index_slices::read(call, axis, call.inputs[1].rank(), special),
        Named::Tuples => index_slices::read(call, axis, 1, special),
    }
}

fn read_elements(call: &Call<'_>, axis: usize, special: Special) -> Result<Program> {
    let (input, ids) = (call.inputs[0], call.inputs[1]);
    let (x, y) = (Words::of(input), Words::of(call.outputs[0]));
    call.one(|k| {
        let of = k.strided(Place::Input(0), x.dtype, &x.dims, &x.stride, false);
        let to = k.strided(Place::Output(0), y.dtype, &y.dims, &y.stride, true);
        let (len, ids) = (input.dims()[axis], k.input(1, ids));
        k.each_of(&y.dims, |at| {
            let (place, inside) = position(k, ids.load(&at[..ids.dims.len()]), len, special);
            let from = [&at[..axis], &[place], &at[axis + 1..]].concat();
            let element = k.var(k.constant(0i64, x.dtype));
            k.when(inside, || element.set(of.load(&from)));
            to.store(at, element.get());
        });
        Ok(())
    })
}

/// Elements are counted along the tensor: that tells where the indices of one go.
fn nonzero(call: &Call<'_>) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input])?;
    let (counts, mut program) = (States::new(Running::Sum, INDEX, INDEX), Program::default());
    scan_groups::run(call.target, &mut program, &counts, [1, input.elem_count()], |k| {
        let (x, y, most) = (k.input(0, input), k.output(0, output), k.size(output.dims()[0]));
        let of = x.clone();
        Ends {
            state: Box::new(move |_, i| vec![of.load(&k.unravelled(i, &of.dims)).to(DType::Bool).to(INDEX)]),
            keep: Box::new(move |_, i, count| {
                let at = k.unravelled(i, &x.dims);
                k.when(x.load(&at).to(DType::Bool) & count[0].le(most), || {
                    for (d, &place) in at.iter().enumerate() {
                        y.store(&[count[0] - 1, k.index(d)], place.to(y.dtype.compute()));
                    }
                });
            }),
        }
    })?;
    Ok(program)
}

fn exchange(call: &Call<'_>) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let (lead, rows) = output.dims().split_at(output.rank() - 1);
    call.one(|k| {
        let (pivots, order) = (k.input(0, input), k.output(0, output));
        let dtype = order.dtype.compute();
        k.each_of(lead, |at| {
            let place = |i| order.place(&[at, &[i]].concat());
            k.repeat(k.size(rows[0]), |i| order.store_at(place(i), i.to(dtype)));
            k.repeat(pivots.last(1), |step| {
                let other = pivots.load(&[at, &[step]].concat()) - k.constant(1i64, DType::I32);
                let (other, inside) = position(k, other, rows[0], Special::None);
                k.when(inside, || {
                    let (own, others) = (order.load_at(place(step)), order.load_at(place(other)));
                    order.store_at(place(step), others);
                    order.store_at(place(other), own);
                });
            });
        });
        Ok(())
    })
}
