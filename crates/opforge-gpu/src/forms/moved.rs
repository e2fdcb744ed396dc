//! Elements moved unchanged, as words of at most four bytes, whatever the dtype.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::{Beyond, Move};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::collapsed;
use crate::value::Value;

use super::transposed::Transposed;

/// Words that a thread copies.
const WORDS: usize = 4;

/// Words from which on there are threads enough if each copies several.
const MANY: usize = 1 << 20;

/// A tensor as words: elements of more than four bytes have a dimension more.
pub(crate) struct Words {
    pub dtype: DType,
    pub dims: Vec<usize>,
    pub stride: Vec<usize>,
    /// Words of an element.
    pub each: usize,
}

impl Words {
    pub fn of(meta: &Meta) -> Self {
        Self::laid_out(meta.dtype, meta.dims(), meta.layout.stride())
    }

    pub fn laid_out(dtype: DType, dims: &[usize], stride: &[usize]) -> Self {
        let size = dtype.size_in_bytes();
        let each = size.div_ceil(4);
        let (mut dims, mut stride) = (dims.to_vec(), stride.iter().map(|step| step * each).collect::<Vec<_>>());
        if each > 1 {
            dims.push(each);
            stride.push(1);
        }
        let dtype = match size {
            1 => DType::U8,
            2 => DType::U16,
            _ => DType::U32,
        };
        Words { dtype, dims, stride, each }
    }
}

pub(crate) fn moved(call: &Call<'_>, form: &Move) -> Result<Program> {
    let (mut program, output) = (Program::default(), call.outputs[0]);
    let y = Words::of(output);
    match form {
        Move::Copy => {
            let x = Words::of(call.inputs[0]);
            copy(call, &mut program, y.dtype, &y.dims, (Place::Input(0), &x.stride), &y.stride, 0)?;
        }
        &Move::Concatenate { axis } => {
            let mut first = 0;
            for (i, input) in call.inputs.iter().enumerate().filter(|(_, input)| input.elem_count() > 0) {
                let x = Words::of(input);
                let from = (Place::Input(i), &x.stride[..]);
                copy(call, &mut program, y.dtype, &x.dims, from, &y.stride, first * y.stride[axis])?;
                first += input.dims()[axis];
            }
        }
        Move::Flip { axes } => return flip(call, axes),
        &Move::Extend { ref before, beyond } => return extend(call, before, beyond),
        &Move::Triangle { lower, diagonal } => return triangle(call, lower, diagonal),
        Move::Overlay { place } => {
            let part = call.inputs[call.inputs.len() - 1];
            if let [base, _] = call.inputs {
                let base = Words::of(base);
                copy(call, &mut program, y.dtype, &y.dims, (Place::Input(0), &base.stride), &y.stride, 0)?;
            } else {
                clear(call, &mut program, &y)?;
            }
            let (x, to) = (Words::of(part), Words::laid_out(output.dtype, place.dims(), place.stride()));
            let from = (Place::Input(call.inputs.len() - 1), &x.stride[..]);
            copy(call, &mut program, y.dtype, &x.dims, from, &to.stride, place.start_offset() * y.each)?;
        }
    }
    Ok(program)
}

/// Copies words, to places that begin at a word of the output.
fn copy(
    call: &Call<'_>,
    program: &mut Program,
    dtype: DType,
    dims: &[usize],
    from: (Place, &[usize]),
    to: &[usize],
    first: usize,
) -> Result<()> {
    let (mut dims, steps) = collapsed(dims, &[from.1, to]);
    let transposed = Transposed::of(&dims, &steps[0], &steps[1]);
    let shared = if transposed.is_none() { shortened(&mut dims) } else { None };
    program.launch(call.target, |k| {
        let x = k.strided(from.0, dtype, &dims, &steps[0], false);
        let y = k.strided(Place::Output(0), dtype, &dims, &steps[1], true);
        let first = k.size(first);
        if let Some(transposed) = transposed {
            transposed.write(k, &dims, &x, &y, first);
            return Ok(());
        }
        let apart = [0, 1].map(|side| k.size(shared.map_or(0, |d| dims[d] * steps[side][d])));
        k.each_of(&dims, |at| {
            let (from, to) = (x.place(at), y.place(at) + first);
            let count = if shared.is_some() { WORDS } else { 1 };
            let words: Vec<_> = (0..count).map(|n| x.load_at(from + apart[0] * n)).collect();
            words.into_iter().enumerate().for_each(|(n, word)| y.store_at(to + apart[1] * n, word));
        });
        Ok(())
    })
}

/// Shortens the first dimension that can be, to be walked through in as many places at once as a thread moves words, so that a thread waits for all of them
/// together; which one it is. None where there are few words.
fn shortened(dims: &mut [usize]) -> Option<usize> {
    let many = dims.iter().product::<usize>() >= MANY;
    let d = dims.iter().position(|len| many && *len > 0 && len.is_multiple_of(WORDS))?;
    dims[d] /= WORDS;
    Some(d)
}

fn clear(call: &Call<'_>, program: &mut Program, y: &Words) -> Result<()> {
    let (dims, steps) = collapsed(&y.dims, &[&y.stride]);
    program.launch(call.target, |k| {
        let y = k.strided(Place::Output(0), y.dtype, &dims, &steps[0], true);
        k.each_of(&dims, |at| y.store(at, k.constant(0i64, y.dtype)));
        Ok(())
    })
}

fn flip(call: &Call<'_>, axes: &[usize]) -> Result<Program> {
    let (x, y) = (Words::of(call.inputs[0]), Words::of(call.outputs[0]));
    call.one(|k| {
        let from = k.strided(Place::Input(0), x.dtype, &x.dims, &x.stride, false);
        let to = k.strided(Place::Output(0), y.dtype, &y.dims, &y.stride, true);
        k.each_of(&y.dims, |at| {
            let mirrored = at.iter().enumerate().map(|(d, &i)| match axes.contains(&d) && !to.dims[d].is(1) {
                true => to.dims[d] - 1 - i,
                false => i,
            });
            to.store(at, from.load(&mirrored.collect::<Vec<_>>()));
        });
        Ok(())
    })
}

fn extend(call: &Call<'_>, before: &[usize], beyond: Beyond) -> Result<Program> {
    let (x, y) = (Words::of(call.inputs[0]), Words::of(call.outputs[0]));
    let lengths = call.inputs[0].dims();
    call.one(|k| {
        let from = k.strided(Place::Input(0), x.dtype, &x.dims, &x.stride, false);
        let to = k.strided(Place::Output(0), y.dtype, &y.dims, &y.stride, true);
        k.each_of(&y.dims, |at| {
            let source = at.iter().enumerate().map(|(d, &i)| match lengths.get(d) {
                Some(&len) if y.dims[d] != len => source(k, i, before[d], len, beyond),
                _ => i,
            });
            to.store(at, from.load(&source.collect::<Vec<_>>()));
        });
        Ok(())
    })
}

/// Which of `len` elements lies at place `i`, counted from `before` places before the first.
fn source<'a>(k: &'a Code, i: Value<'a>, before: usize, len: usize, beyond: Beyond) -> Value<'a> {
    let (first, len) = (k.size(before), k.size(len));
    let own = i - first;
    let (ahead, behind) = match beyond {
        Beyond::Reflected => (first - i, len + len - own - 2),
        Beyond::Repeated => (k.index(0), len - 1),
        Beyond::Wrapped => (len - first + i, own - len),
    };
    i.lt(first).choose(ahead, own.lt(len).choose(own, behind))
}

fn triangle(call: &Call<'_>, lower: bool, diagonal: i64) -> Result<Program> {
    let (x, y, rank) = (Words::of(call.inputs[0]), Words::of(call.outputs[0]), call.outputs[0].rank());
    call.one(|k| {
        let from = k.strided(Place::Input(0), x.dtype, &x.dims, &x.stride, false);
        let to = k.strided(Place::Output(0), y.dtype, &y.dims, &y.stride, true);
        // Far beyond the matrix nothing changes any more; both sides are shifted so that they are positive.
        let most = 1 << 29;
        let by = k.parameter((diagonal.clamp(-most, most) + (1 << 30)) as u32);
        k.each_of(&y.dims, |at| {
            let (row, column) = (at[rank - 2] + by, at[rank - 1] + (1 << 30));
            let stays = if lower { column.le(row) } else { row.le(column) };
            to.store(at, stays.choose(from.load(at), k.constant(0i64, y.dtype)));
        });
        Ok(())
    })
}
