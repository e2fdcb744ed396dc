//! The order of elements along an axis.

mod key;
mod place;
mod radix;
mod search;
mod select;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::loops::fallible::try_parallel_for;
use crate::loops::work::{grain, look_at};
use crate::memory::Truth;
use crate::memory::scratch::with_scratch;
use key::{Key, Packed};
pub use place::arg_place;
pub use search::search;
use select::{Select, Ways};

/// What an element costs, in elements of a plain loop.
const ELEMENT: usize = 4;

/// Rows of at most so many elements are ordered by counting.
const FEW: usize = 12;

/// The kernel that gives the indices which sort the elements along `axis`, as many of the first as the output has there. It is u32 or i64.
///
/// The order is stable, also descending. NaN counts as larger than every number, and the two zeros as equal.
///
/// # Errors
/// Complex numbers; an axis beyond the rank, or too long for the output's dtype; an output of another shape.
pub fn arg_sort(
    op: &'static str,
    input: &Meta,
    axis: usize,
    descending: bool,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let Lines { nest, row, wide } = Lines::new(op, input, axis, output)?;
    let order = Order { nest, row, count: output.dims()[axis], descending, wide };
    match input.dtype {
        DType::Bool => Ok(order.kernel::<Truth>()),
        dtype => by_number!(op, dtype, T => Ok(order.kernel::<T>())),
    }
}

/// The lines along an axis of the input and of the output.
struct Lines {
    nest: Nest<2>,
    row: Axis<2>,
    /// Whether indices are i64.
    wide: bool,
}

impl Lines {
    fn new(op: &'static str, input: &Meta, axis: usize, output: &Meta) -> Result<Self> {
        let fits = |d: usize| input.dims()[d] == output.dims()[d] || d == axis && output.dims()[d] < input.dims()[d];
        if input.rank() != output.rank() || axis >= input.rank() || !(0..input.rank()).all(fits) {
            let accepted = format!("equal shapes that have dim {axis}, along which the output may be shorter");
            return Err(Error::shapes(op, input.shape(), output.shape(), accepted));
        }
        if !matches!(output.dtype, DType::U32 | DType::I64) {
            return Err(Error::dtype(op, "output", output.dtype, "u32 or i64"));
        }
        if output.layout.may_overlap_itself() {
            return Err(Error::value(op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
        }
        let steps = byte_steps(input).zip(byte_steps(output));
        let mut axes: Vec<Axis<2>> =
            input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }).collect();
        let row = axes.remove(axis);
        if u32::try_from(row.len).is_err() {
            return Err(Error::shape(op, "input", format!("{:?}", input.shape()), "fewer than 2^32 elements in a row"));
        }
        let wide = output.dtype == DType::I64;
        Ok(Lines { nest: Nest::collapse(axes.into_iter()), row, wide })
    }
}

/// The rows, and what is wanted of their order.
struct Order {
    nest: Nest<2>,
    row: Axis<2>,
    /// How many of the first.
    count: usize,
    descending: bool,
    /// Whether indices are i64.
    wide: bool,
}

impl Order {
    fn kernel<T: Key>(self) -> Arc<dyn HostKernel> {
        if self.count < self.row.len / 4 {
            return Arc::new(Select { order: self, ways: Ways::of::<T>() });
        }
        if self.row.len <= FEW {
            return Arc::new(ArgSort { scratch: 0, order: self, sort: order_few::<T> });
        }
        Arc::new(ArgSort { scratch: scratch::<T>(self.row.len), order: self, sort: sort_row::<T> })
    }
}

struct ArgSort {
    order: Order,
    /// Bytes of working memory that a row takes.
    scratch: usize,
    /// Writes the indices that sort a row.
    sort: unsafe fn(&Order, *const u8, *mut u8, scratch: *mut u8),
}

impl HostKernel for ArgSort {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst, order) = (Shared(inputs[0]), Shared(outputs[0]), &self.order);
        if order.row.len == 0 {
            return Ok(());
        }
        let grain = grain(ELEMENT * order.row.len);
        try_parallel_for(order.nest.count(), grain, |range| {
            with_scratch(self.scratch, |scratch| {
                order.nest.for_each(range, |[s, d]| {
                    // SAFETY: offsets are within the tensors; rows are disjoint; the scratch is what a row takes.
                    unsafe { (self.sort)(order, src.get().offset(s), dst.get().offset(d), scratch) };
                });
            })
        })
    }

    fn cost(&self) -> u64 {
        let (rows, len) = (self.order.nest.count(), self.order.row.len);
        20 + (rows * len * (5 + len.max(2).ilog2() as usize)) as u64
    }
}

/// Bytes of working memory that sorting a row takes.
fn scratch<T: Key>(len: usize) -> usize {
    (len + T::Packed::spare(len)) * size_of::<T::Packed>()
}

/// Sorts pairs of key and index as plain integers, which makes the order stable. Keys of 64 bits that are no further apart than 32 bits tell, as those of
/// most integers, are counted from the least.
///
/// # Safety
/// Valid for all elements of the row; `scratch` holds the bytes of [`scratch`], initialised and aligned to 64.
unsafe fn sort_row<T: Key>(order: &Order, src: *const u8, dst: *mut u8, scratch: *mut u8) {
    let row = order.row;
    // SAFETY: keys are asked for places within the row only.
    let key = |i: usize| unsafe { src.offset(i as isize * row.step[0]).cast::<T>().read_unaligned() }.key();
    // SAFETY: `dst` has an index for each of the first `count` places, and the scratch is enough for pairs of either size.
    unsafe {
        if size_of::<T::Packed>() > size_of::<u64>() {
            let (mut least, mut greatest) = (u64::MAX, 0);
            for i in 0..row.len {
                look_at(i);
                (least, greatest) = (least.min(key(i)), greatest.max(key(i)));
            }
            if greatest - least <= u64::from(u32::MAX) {
                return sort_pairs::<u64>(order, |i| key(i) - least, dst, scratch);
            }
        }
        sort_pairs::<T::Packed>(order, key, dst, scratch);
    }
}

/// [`sort_row`] of keys that fit pairs of this type
///
/// # Safety
/// As [`sort_row`]; the scratch holds a row of these pairs and what they need to be sorted.
unsafe fn sort_pairs<P: Packed>(order: &Order, key: impl Fn(usize) -> u64, dst: *mut u8, scratch: *mut u8) {
    let row = order.row;
    let room = row.len + P::spare(row.len);
    // SAFETY: the scratch holds `room` pairs, and every pattern of bits is an integer.
    let (pairs, spare) = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<P>(), room) }.split_at_mut(row.len);
    for (i, pair) in pairs.iter_mut().enumerate() {
        look_at(i);
        *pair = P::new(key(i), order.descending, i as u32);
    }
    if !pairs.is_sorted() {
        P::sort(pairs, spare);
    }
    for (i, pair) in pairs[..order.count].iter().enumerate() {
        look_at(i);
        // SAFETY: the result has an index for each of the first `count` places.
        unsafe { write_index(order.wide, dst.offset(i as isize * row.step[1]), pair.index()) };
    }
}

/// Orders a few elements by counting those that come before each. No branch depends on a comparison, which a processor would have to guess.
///
/// # Safety
/// Valid for all elements of the row, which are at most [`FEW`].
unsafe fn order_few<T: Key>(order: &Order, src: *const u8, dst: *mut u8, _: *mut u8) {
    let row = order.row;
    let (mut keys, mut places) = ([T::Packed::bits(0); FEW], [0; FEW]);
    for j in 0..row.len {
        // SAFETY: `j` is below the row's length.
        let value = unsafe { src.offset(j as isize * row.step[0]).cast::<T>().read_unaligned() };
        let key = T::Packed::bits(if order.descending { !value.key() } else { value.key() });
        let mut place = 0;
        for i in 0..j {
            let is_first = usize::from(keys[i] <= key);
            place += is_first;
            places[i] += 1 - is_first;
        }
        (keys[j], places[j]) = (key, place);
    }
    for (i, &place) in places[..row.len].iter().enumerate() {
        if place < order.count {
            // SAFETY: the result has an index for each of the first `count` places.
            unsafe { write_index(order.wide, dst.offset(place as isize * row.step[1]), i as u32) };
        }
    }
}

/// # Safety
/// `to` is valid for an i64 if `wide`, else for a u32.
unsafe fn write_index(wide: bool, to: *mut u8, index: u32) {
    // SAFETY: `to` is writable for the integer that `wide` tells.
    unsafe {
        match wide {
            true => to.cast::<i64>().write_unaligned(index.into()),
            false => to.cast::<u32>().write_unaligned(index),
        }
    }
}
