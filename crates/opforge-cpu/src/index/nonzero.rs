//! Positions of true elements.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;
use opforge_runtime::parallel::parallel_for;

use crate::copy::{Shared, byte_steps};
use crate::loops::work::{GRAIN, grain};

/// The kernel that writes the positions, in row-major order, of a bool tensor's true elements: a row of `rank` indices for each.
/// Others may write to the mask meanwhile, as threads of numpy can: no more is written than there is room for, and another number is an error.
///
/// The output, `[count, rank]` in i64 and contiguous, has room for as many as there are.
///
/// # Errors
/// Shape or dtype mismatch. Running it: another number of true elements than the output has rows.
pub fn nonzero(op: &'static str, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if input.dtype != DType::Bool {
        return Err(Error::dtype(op, "input", input.dtype, DType::Bool));
    }
    if output.dtype != DType::I64 {
        return Err(Error::dtype(op, "output", output.dtype, DType::I64));
    }
    let ([count, rank], true) = (output.dims(), output.layout.is_contiguous()) else {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "a contiguous matrix"));
    };
    if *rank != input.rank() {
        return Err(Error::shapes(op, input.shape(), output.shape(), "an index for each dimension"));
    }
    let (&row, lead) = input.dims().split_last().unwrap_or((&1, &[]));
    let steps: Vec<isize> = byte_steps(input).collect();
    Ok(Arc::new(Nonzero {
        op,
        count: *count,
        rows: if row == 0 { 0 } else { lead.iter().product() },
        row,
        dims: lead.to_vec(),
        step: steps.last().copied().unwrap_or(1),
        steps: steps[..lead.len()].to_vec(),
        rank: *rank,
    }))
}

struct Nonzero {
    op: &'static str,
    count: usize,
    /// The number of rows: of the loops over all dimensions but the last.
    rows: usize,
    row: usize,
    step: isize,
    dims: Vec<usize>,
    steps: Vec<isize>,
    rank: usize,
}

impl Nonzero {
    /// Calls `f` with each row's coordinates and address.
    fn each_row(&self, mask: *const u8, rows: Range<usize>, mut f: impl FnMut(&[i64], *const u8)) {
        let mut at = vec![0i64; self.dims.len()];
        let mut rest = rows.start;
        let mut here = mask;
        for d in (0..self.dims.len()).rev() {
            at[d] = (rest % self.dims[d]) as i64;
            here = here.wrapping_offset(at[d] as isize * self.steps[d]);
            rest /= self.dims[d];
        }
        for _ in rows {
            f(&at, here);
            for d in (0..self.dims.len()).rev() {
                at[d] += 1;
                here = here.wrapping_offset(self.steps[d]);
                if at[d] < self.dims[d] as i64 {
                    break;
                }
                here = here.wrapping_offset(-(at[d] as isize) * self.steps[d]);
                at[d] = 0;
            }
        }
    }

    /// Pieces of at most [`GRAIN`] elements that each row is read in.
    fn pieces(&self) -> usize {
        self.row.div_ceil(GRAIN).max(1)
    }

    /// Calls `f` for the words of some pieces of all rows: with the row's coordinates, the place in it of the word's first element, and the truths
    /// of this and the following.
    ///
    /// # Safety
    /// The pieces are readable.
    #[inline(always)]
    unsafe fn each_word(&self, mask: *const u8, pieces: Range<usize>, mut f: impl FnMut(&[i64], usize, u64)) {
        let (mut piece, per_row) = (pieces.start, self.pieces());
        self.each_row(mask, piece / per_row..pieces.end.div_ceil(per_row), |at, row| {
            let (first, row_end) = (piece % per_row, (piece / per_row + 1) * per_row);
            let end = row_end.min(pieces.end);
            for i in (first * GRAIN..self.row.min((first + end - piece) * GRAIN)).step_by(WORD) {
                // SAFETY: `i` is an element of the row, which has so many left.
                let word =
                    unsafe { truths(row.wrapping_offset(i as isize * self.step), self.step, WORD.min(self.row - i)) };
                f(at, i, word);
            }
            piece = end;
        });
    }

    /// # Safety
    /// The pieces are readable.
    unsafe fn count(&self, mask: *const u8, pieces: Range<usize>) -> usize {
        let mut count = 0;
        // SAFETY: the pieces are readable.
        unsafe { self.each_word(mask, pieces, |_, _, truths| count += truths.count_ones() as usize) };
        count
    }

    /// Writes the positions of `count` true elements; false if there are more or fewer, as others may write to the mask meanwhile.
    ///
    /// # Safety
    /// The pieces are readable, and `into` has room for `count` positions.
    unsafe fn write(&self, mask: *const u8, pieces: Range<usize>, into: *mut i64, count: usize) -> bool {
        let mut found = 0;
        // SAFETY: the pieces are readable; a word's positions are written if there is room for all that were found up to there.
        unsafe {
            self.each_word(mask, pieces, |at, first, truths| {
                let (before, more) = (found, truths.count_ones() as usize);
                found += more;
                if found <= count {
                    write_positions(at, first, truths, more, into.add(before * self.rank), self.rank);
                }
            });
        }
        found == count
    }
}

/// Elements whose truths are looked at together, as the bits of a word.
const WORD: usize = u64::BITS as usize;

/// Whether each of `n` bytes, at most [`WORD`] and `step` bytes apart, is not 0, from the lowest bit on.
///
/// # Safety
/// The bytes are readable.
#[inline(always)]
unsafe fn truths(at: *const u8, step: isize, n: usize) -> u64 {
    let eights = if step == 1 { n / 8 } else { 0 };
    // SAFETY: each read is of eight of the bytes, or of one of those that are left.
    unsafe {
        let eight = |i: usize| u64::from_le_bytes(at.add(8 * i).cast::<[u8; 8]>().read());
        let bits = (0..eights).fold(0, |bits, i| bits | (truths_of_eight(eight(i)) << (8 * i)));
        (8 * eights..n).fold(bits, |bits, i| bits | (u64::from(at.offset(i as isize * step).read() != 0) << i))
    }
}

/// Whether each of eight bytes is not 0, the lowest first.
#[inline(always)]
pub fn truths_of_eight(bytes: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Adding carries into a byte's highest bit if one of the others is set.
    let highest = (((bytes & LOW) + LOW) | bytes) & !LOW;
    // The product moves the highest bit of byte `k` to bit `56 + k`; no two bits meet.
    (highest >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Writes `count` positions of `rank` indices: those of the row, `at`, then `first` and the number of a bit, for each of as many that are set.
///
/// # Safety
/// `into` has room for the positions; `rank` is one more than `at` has indices, or 0.
#[inline(always)]
unsafe fn write_positions(at: &[i64], first: usize, mut truths: u64, count: usize, into: *mut i64, rank: usize) {
    if rank == 0 {
        return;
    }
    // SAFETY: `n` is below the number of positions, and `d` and `at.len()` are below the rank.
    unsafe {
        for (d, &index) in at.iter().enumerate() {
            (0..count).for_each(|n| into.add(n * rank + d).write(index));
        }
        for n in 0..count {
            into.add(n * rank + at.len()).write(first as i64 + i64::from(truths.trailing_zeros()));
            truths &= truths.wrapping_sub(1);
        }
    }
}

impl HostKernel for Nonzero {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (pieces, grain) = (self.rows * self.pieces(), grain(self.row));
        let mut starts = Room::filled(pieces.div_ceil(grain), 0usize)?;
        let (mask, into) = (Shared(inputs[0]), Shared(outputs[0].cast::<i64>()));
        let counts = Shared(starts.as_mut_ptr());
        // SAFETY: each range of pieces has a place of its own.
        parallel_for(pieces, grain, |range| unsafe {
            let count = counts.get().add(range.start / grain);
            count.write(self.count(mask.get(), range));
        });
        let mut total = 0;
        starts.iter_mut().for_each(|start| total += std::mem::replace(start, total));
        if total != self.count {
            return Err(Error::value(self.op, "input", format!("{total} true elements"), self.count));
        }
        let same = AtomicBool::new(true);
        // SAFETY: as many rows of the output belong to each range of pieces as true elements were counted in it.
        parallel_for(pieces, grain, |range| unsafe {
            let place = range.start / grain;
            let (start, end) = (starts[place], starts.get(place + 1).copied().unwrap_or(total));
            if !self.write(mask.get(), range, into.get().add(start * self.rank), end - start) {
                same.store(false, Ordering::Relaxed);
            }
        });
        if same.into_inner() {
            return Ok(());
        }
        Err(Error::value(self.op, "input", "changed while it was read", "a mask that stays as it is"))
    }

    fn cost(&self) -> u64 {
        20 + (self.rows * self.row / 8) as u64 + (self.count * self.rank) as u64
    }
}
