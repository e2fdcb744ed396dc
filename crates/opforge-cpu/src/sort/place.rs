//! The elements at a place of an order, found without sorting.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_tile::forms::Rank;

use super::key::{self, Key, Packed};
use super::{ELEMENT, Lines, write_index};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::loops::work::{grain, look_at};
use crate::memory::Truth;
use crate::memory::scratch::with_scratch;

/// The kernel that gives the indices that [`arg_sort`](super::arg_sort), ascending, has at a place along `axis` and after it, as many as the output has
/// there.
///
/// # Errors
/// As [`arg_sort`](super::arg_sort), and for more places than there are.
pub fn arg_place(
    op: &'static str,
    input: &Meta,
    axis: usize,
    rank: Rank,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let lines = Lines::new(op, input, axis, output)?;
    let count = output.dims()[axis];
    let first = if let Rank::At(first) = rank { first } else { 0 };
    if first.checked_add(count).is_none_or(|end| end > lines.row.len) || rank == Rank::MiddleNumber && count > 1 {
        return Err(Error::index(op, "rank", format!("{count} from {rank:?} on"), format!("{} places", lines.row.len)));
    }
    let of = Wanted { lines, rank, count };
    match input.dtype {
        DType::Bool => Ok(of.kernel::<Truth>()),
        dtype => by_number!(op, dtype, T => Ok(of.kernel::<T>())),
    }
}

/// The lines, and which places of each are wanted.
struct Wanted {
    lines: Lines,
    rank: Rank,
    count: usize,
}

impl Wanted {
    fn kernel<T: Key>(self) -> Arc<dyn HostKernel> {
        let scratch = 2 * self.lines.row.len * size_of::<<T::Packed as Packed>::Bits>();
        Arc::new(ArgPlace { wanted: self, scratch, row: row::<T> })
    }
}

struct ArgPlace {
    wanted: Wanted,
    /// Bytes of working memory that a row takes.
    scratch: usize,
    row: unsafe fn(&Wanted, *const u8, *mut u8, scratch: *mut u8),
}

impl HostKernel for ArgPlace {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst, wanted) = (Shared(inputs[0]), Shared(outputs[0]), &self.wanted);
        if wanted.count == 0 {
            return Ok(());
        }
        try_parallel_for(wanted.lines.nest.count(), grain(ELEMENT * wanted.lines.row.len), |range| {
            with_scratch(self.scratch, |scratch| {
                wanted.lines.nest.for_each(range, |[s, d]| {
                    // SAFETY: offsets are within the tensors; rows are disjoint; the scratch is what a row takes.
                    unsafe { (self.row)(wanted, src.get().offset(s), dst.get().offset(d), scratch) };
                });
            })
        })
    }

    fn cost(&self) -> u64 {
        20 + 5 * (self.wanted.lines.nest.count() * self.wanted.lines.row.len) as u64
    }
}

/// Writes the indices of a row's wanted elements. Equal elements keep their order: of those with the same key, as many come before the wanted one as
/// stand before its place.
///
/// # Safety
/// Valid for all elements of the row, of which there are some; `scratch` holds two keys for each, initialised and aligned to 64.
unsafe fn row<T: Key>(wanted: &Wanted, src: *const u8, dst: *mut u8, scratch: *mut u8) {
    let &Lines { row, wide, .. } = &wanted.lines;
    // SAFETY: the scratch holds twice as many keys, and every pattern of bits is an integer.
    let keys = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<<T::Packed as Packed>::Bits>(), 2 * row.len) };
    let (keys, own) = keys.split_at_mut(row.len);
    // SAFETY: the row has as many elements as there are keys.
    let numbers = unsafe {
        match row.step[0] == size_of::<T>() as isize {
            true => read_keys::<T>(src, size_of::<T>() as isize, own),
            false => read_keys::<T>(src, row.step[0], own),
        }
    };
    keys.copy_from_slice(own);
    let first = match wanted.rank {
        Rank::At(first) => first,
        Rank::MiddleNumber => numbers.saturating_sub(1) / 2,
    };
    let mut sorted = 0;
    for i in 0..wanted.count {
        let place = first + i;
        key::select(&mut keys[sorted..], place - sorted);
        sorted = place + 1;
        let found = keys[place];
        let before = keys[..place].iter().filter(|&&key| key == found).count();
        let mut equal = own.iter().enumerate().filter(|(_, key)| **key == found);
        let index = equal.nth(before).map_or(0, |(index, _)| index);
        // SAFETY: the output has `count` places at its step.
        unsafe { write_index(wide, dst.offset(i as isize * row.step[1]), index as u32) };
    }
}

/// Reads the keys of a row, and counts the elements that are not NaN.
///
/// # Safety
/// `src` is readable for an element for each key, `step` bytes apart.
#[inline(always)]
unsafe fn read_keys<T: Key>(src: *const u8, step: isize, keys: &mut [<T::Packed as Packed>::Bits]) -> usize {
    let mut numbers = 0;
    for (i, key) in keys.iter_mut().enumerate() {
        look_at(i);
        // SAFETY: the row has as many elements as there are keys.
        let value = unsafe { src.offset(i as isize * step).cast::<T>().read_unaligned() };
        numbers += usize::from(value.is_number());
        *key = <T::Packed as Packed>::bits(value.key());
    }
    numbers
}
