//! Sorting: groups sort chunks of lines in shared memory by bitonic networks (Batcher 1968), then launches merge sorted runs in pairs until a line is one
//! run. Elements are ordered by unsigned keys, equal ones by where they come from: there is one such order, and it is stable.

use opforge_core::{DType, Meta, Result};
use opforge_trace::Op;

use crate::code::Code;
use crate::kernel::{INDEX, LANES};
use crate::lower::Target;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::{Array, Value};

use super::scan::Lines;

/// Lines that are to be sorted.
#[derive(Clone, Copy)]
pub(crate) struct Unsorted<'a> {
    pub place: Place,
    pub meta: &'a Meta,
    pub axis: usize,
    pub descending: bool,
}

impl Unsorted<'_> {
    pub fn len(&self) -> usize {
        self.meta.dims()[self.axis]
    }

    pub fn lines(&self) -> usize {
        Lines::others(self.meta, self.axis).iter().product()
    }

    /// How many elements a group sorts: with their places they fill 16 KiB at most, which WGSL promises.
    pub fn slots(&self) -> usize {
        if key_dtype(self.meta.dtype) == DType::U64 { 1024 } else { 2048 }
    }

    /// Whether groups sort whole lines.
    pub fn is_short(&self) -> bool {
        self.len() <= self.slots()
    }
}

/// Sorted runs of lines in scratch memory: run `r` of a line is the line's `covers` elements from `r * covers` on, of which the first `kept` are there,
/// from `line * stride + r * kept` on.
#[derive(Clone, Copy)]
pub(crate) struct Runs {
    /// Keys, of [`key_dtype`].
    pub keys: Place,
    /// Where elements stand in their line, of [`INDEX`].
    pub order: Place,
    pub stride: usize,
    each: usize,
    covers: usize,
    kept: usize,
}

/// An element in its place of a sorted chunk.
pub(crate) struct Element<'a> {
    pub line: Value<'a>,
    /// The chunk of the line.
    chunk: Value<'a>,
    /// How many elements of the chunk come before it.
    pub place: Value<'a>,
    key: Value<'a>,
    /// Where it stands in its line.
    pub origin: Value<'a>,
}

/// The dtype of keys of elements.
pub(crate) fn key_dtype(dtype: DType) -> DType {
    if dtype.size_in_bytes() == 8 { DType::U64 } else { DType::U32 }
}

/// The greatest key, which NaN has.
pub(crate) fn greatest_key(k: &Code, dtype: DType) -> Value<'_> {
    let bits = if dtype == DType::U64 { u64::MAX } else { u32::MAX.into() };
    k.constant_bits(bits, dtype)
}

/// An unsigned integer that is less where the element is less; zeros have one key, and every NaN the greatest.
pub(crate) fn key(x: Value<'_>) -> Value<'_> {
    let (k, dtype) = (x.code, x.dtype());
    let of = key_dtype(dtype);
    let (sign, infinity) = match of {
        DType::U64 => (1 << 63, f64::INFINITY.to_bits()),
        _ => (1 << 31, f32::INFINITY.to_bits().into()),
    };
    let sign = k.constant_bits(sign, of);
    if dtype.is_float() {
        let bits = x.op(Op::Reinterpret, of, &[]);
        let magnitude = bits & !sign;
        let number = bits.lt(sign).choose(bits | sign, !bits);
        let number = magnitude.equals(k.constant_bits(0, of)).choose(sign, number);
        return k.constant_bits(infinity, of).lt(magnitude).choose(greatest_key(k, of), number);
    }
    if dtype.is_signed() { x.to(of).xor(sign) } else { x.to(of) }
}

/// Sorts each chunk of each line by one group, which several short lines share; `keep` is given every element.
pub(crate) fn sort_chunks<'a>(k: &'a Code, from: &Unsorted<'_>, keep: impl FnOnce(Element<'a>)) {
    let (len, slots) = (from.len(), from.slots());
    let width = len.next_power_of_two().clamp(2, slots);
    let chunks = len.div_ceil(slots);
    let runs = from.lines() * chunks;
    let x = Lines::new(k, from.place, from.meta, from.axis);
    let (keys, order) = (k.shared(key_dtype(from.meta.dtype), slots), k.shared(INDEX, slots));
    let (last, across, parts, all) = (k.size(len), k.size(width), k.size(chunks), k.size(runs));
    k.groups(runs.div_ceil(slots / width), |group| {
        // Where a slot is: its run, the run's line and chunk, the place in the chunk.
        let seat = |slot: Value<'a>| {
            let run = group * k.size(slots / width) + slot / across;
            (run, run / parts, run % parts, slot % across)
        };
        each_slot(k, slots, |slot| {
            let (run, line, chunk, place) = seat(slot);
            let i = chunk * across + place;
            // What is beyond the line comes after all of it.
            let own = k.var(greatest_key(k, keys.dtype));
            k.when(run.lt(all) & i.lt(last), || {
                let key = key(x.load(&x.at(line), i));
                own.set(if from.descending { !key } else { key });
            });
            keys.store(slot, own.get());
            order.store(slot, i);
        });
        network(k, slots, across, keys, order);
        each_slot(k, slots, |slot| {
            let (run, line, chunk, place) = seat(slot);
            let origin = order.load(slot);
            k.when(run.lt(all) & origin.lt(last), || {
                keep(Element { line, chunk, place, key: keys.load(slot), origin });
            });
        });
    });
}

/// The lanes of a group go through slots, neighbours side by side.
fn each_slot<'a>(k: &'a Code, slots: usize, body: impl FnOnce(Value<'a>)) {
    k.lanes(LANES, |lane| k.repeat(k.index(slots / LANES), |turn| body(turn * LANES + lane)));
}

/// Sorts every `width` slots, a power of two. Of two sorted halves of a block, each slot first meets the one that mirrors it, then those half as far away,
/// and so on: the lesser element is always on the left.
fn network<'a>(k: &'a Code, slots: usize, width: Value<'a>, keys: Array<'a>, order: Array<'a>) {
    let block = k.var(k.index(2));
    k.forever(|| {
        k.leave(width.lt(block.get()));
        let (distance, mask) = (k.var(block.get() / 2), k.var(block.get() - 1));
        k.forever(|| {
            k.leave(distance.get().equals(k.index(0)));
            each_slot(k, slots / 2, |pair| {
                let left = pair + pair - (pair & (distance.get() - 1));
                exchange(k, keys, order, left, left.xor(mask.get()));
            });
            distance.set(distance.get() / 2);
            mask.set(distance.get());
        });
        block.set(block.get() + block.get());
    });
}

/// Has the lesser of two elements on the left.
fn exchange<'a>(k: &'a Code, keys: Array<'a>, order: Array<'a>, left: Value<'a>, right: Value<'a>) {
    let (a, b) = (keys.load(left), keys.load(right));
    let (i, j) = (order.load(left), order.load(right));
    k.when(b.lt(a) | (b.equals(a) & j.lt(i)), || {
        keys.store(left, b);
        keys.store(right, a);
        order.store(left, j);
        order.store(right, i);
    });
}

/// Lines in order, of which the first `kept` elements are wanted: one run each.
pub(crate) fn sort_lines(program: &mut Program, target: &Target, from: &Unsorted<'_>, kept: usize) -> Result<Runs> {
    let (each, covers) = (from.len().div_ceil(from.slots()), from.slots());
    let stride = each * covers.min(kept);
    let mut space = || {
        let dtype = key_dtype(from.meta.dtype);
        (program.scratch(dtype, from.lines() * stride), program.scratch(INDEX, from.lines() * stride))
    };
    let (keys, order) = space();
    // Merges read from one space and write to the other.
    let mut other = if each > 1 { space() } else { (keys, order) };
    let mut runs = Runs { keys, order, stride, each, covers, kept: covers.min(kept) };
    program.launch(target, |k| {
        let to = Written::new(k, &runs, from);
        sort_chunks(k, from, |element| {
            to.keep(element.line, element.chunk, element.place, element.key, element.origin)
        });
        Ok(())
    })?;
    while runs.each > 1 {
        let (keys, order) = std::mem::replace(&mut other, (runs.keys, runs.order));
        let kept = kept.min(2 * runs.kept);
        let merged = Runs { keys, order, stride, each: runs.each.div_ceil(2), covers: 2 * runs.covers, kept };
        merge(program, target, from, &runs, &merged)?;
        runs = merged;
    }
    Ok(runs)
}

/// How many elements of a run there are; none beyond the line.
fn elements_of_run<'a>(run: Value<'a>, len: Value<'a>, covers: Value<'a>, kept: Value<'a>) -> Value<'a> {
    let first = run * covers;
    first.lt(len).choose((len - first).min(kept), first.like(0i64))
}

/// Runs that are written.
struct Written<'a> {
    keys: Tensor<'a>,
    order: Tensor<'a>,
    stride: Value<'a>,
    kept: Value<'a>,
}

impl<'a> Written<'a> {
    fn new(k: &'a Code, runs: &Runs, from: &Unsorted<'_>) -> Self {
        let keys = k.strided(runs.keys, key_dtype(from.meta.dtype), &[], &[], true);
        let order = k.strided(runs.order, INDEX, &[], &[], true);
        Written { keys, order, stride: k.size(runs.stride), kept: k.size(runs.kept) }
    }

    /// Writes an element of a line's run, if it is among those kept.
    fn keep(&self, line: Value<'a>, run: Value<'a>, place: Value<'a>, key: Value<'a>, origin: Value<'a>) {
        place.code.when(place.lt(self.kept), || {
            let at = line * self.stride + run * self.kept + place;
            self.keys.store_at(at, key);
            self.order.store_at(at, origin);
        });
    }
}

/// Merges runs in pairs. Every element has a thread: its place is that in its own run, and as many further as elements of the other run come before it.
fn merge(program: &mut Program, target: &Target, from: &Unsorted<'_>, runs: &Runs, merged: &Runs) -> Result<()> {
    program.launch(target, |k| {
        let keys = k.strided(runs.keys, key_dtype(from.meta.dtype), &[], &[], false);
        let order = k.strided(runs.order, INDEX, &[], &[], false);
        let to = Written::new(k, merged, from);
        let (stride, kept) = (k.size(runs.stride), k.size(runs.kept));
        let (len, covers) = (k.size(from.len()), k.size(runs.covers));
        let there = |run| elements_of_run(run, len, covers, kept);
        k.each_of(&[from.lines(), runs.each, runs.kept], |at| {
            let &[line, run, place] = at else { return };
            k.when(place.lt(there(run)), || {
                let other = run.xor(k.index(1));
                let (own, others) = (line * stride + run * kept + place, line * stride + other * kept);
                let (key, right) = (keys.load_at(own), (run & k.index(1)).to(DType::Bool));
                // Equal elements of the left run come first.
                let before = bisect(k, there(other), |i| {
                    let met = keys.load_at(others + i);
                    met.lt(key) | (right & met.equals(key))
                });
                to.keep(line, run / 2, place + before, key, order.load_at(own));
            });
        });
        Ok(())
    })
}

/// How many of the first elements of a range are so, all of which come before the others: by bisection.
pub(crate) fn bisect<'a>(k: &'a Code, count: Value<'a>, is_before: impl FnOnce(Value<'a>) -> Value<'a>) -> Value<'a> {
    let (first, left) = (k.var(k.index(0)), k.var(count));
    k.forever(|| {
        k.leave(left.get().equals(k.index(0)));
        let half = left.get() / 2;
        let middle = first.get() + half;
        k.either(
            is_before(middle),
            || {
                first.set(middle + 1);
                left.set(left.get() - half - 1);
            },
            || left.set(half),
        );
    });
    first.get()
}
