//! Blocks of rows, over which steps run: one loop for every pattern of repeated operands.

use std::mem::MaybeUninit;

/// Where one call of a step reads and writes: `rows` rows of `cols` elements, each contiguous or, for an input, one element repeated.
///
/// The output may be the same memory as an input of the same strides, not otherwise overlap one.
pub(super) struct Block<const K: usize> {
    pub rows: usize,
    pub cols: usize,
    pub input: [*const u8; K],
    pub output: *mut u8,
    /// Bytes from a row to the next.
    pub input_row: [isize; K],
    pub output_row: isize,
    /// Inputs whose row is one element.
    pub repeated: [bool; K],
}

/// The loop body of a step: how to compute a row.
pub(super) trait Body<const K: usize> {
    /// Writes the element at `from`, which belongs to input `k`, as often as a row of `n` elements reads of a repeated input before it begins
    /// anew.
    ///
    /// # Safety
    /// `from` is readable for an element of the input, `to` writable for a [`Splat`].
    unsafe fn splat(&self, k: usize, from: *const u8, to: *mut u8, n: usize);

    /// Computes `n` elements. Where inputs are `repeated`, `x` is what [`splat`](Body::splat) has written.
    ///
    /// # Safety
    /// Other inputs are readable and the output is writable for `n` elements.
    unsafe fn row(&mut self, x: [*const u8; K], repeated: [bool; K], out: *mut u8, n: usize);
}

/// Space for equal elements.
#[repr(C, align(64))]
pub(super) struct Splat([u8; SPLAT_BYTES]);

/// Bytes of a [`Splat`].
pub(super) const SPLAT_BYTES: usize = 2048;

/// Runs the body over a block.
///
/// A repeated element becomes several in memory, so that one loop serves every combination.
///
/// # Safety
/// The block's pointers are valid for all its elements, which have the body's sizes.
#[inline(always)]
pub(super) unsafe fn walk<const K: usize, B: Body<K>>(body: &mut B, block: &Block<K>) {
    let Block { repeated, input_row, .. } = *block;
    let mut splats = [const { MaybeUninit::<Splat>::uninit() }; K];
    let splats: [*mut u8; K] = splats.each_mut().map(|splat| splat.as_mut_ptr().cast());
    let (mut from, mut x, mut step) = (block.input, block.input, input_row);
    for k in 0..K {
        if repeated[k] {
            (x[k], step[k]) = (splats[k], 0);
        }
    }
    // Repeated inputs whose element is another in each row.
    let renewed: [bool; K] = std::array::from_fn(|k| repeated[k] && input_row[k] != 0);
    let (mut output, mut rows, mut due) = (block.output, block.rows, repeated);
    while rows > 0 {
        // Read anew for each row: where the compiler knows the length to stay the same it makes a version of the loops for short rows.
        // SAFETY: a reference is readable.
        let cols = unsafe { (&raw const block.cols).read_volatile() };
        if due.contains(&true) {
            for k in 0..K {
                if due[k] {
                    // SAFETY: the row's element is readable.
                    unsafe { body.splat(k, from[k], splats[k], cols) };
                }
            }
            due = renewed;
        }
        // SAFETY: the row is the block's; repeated inputs have been replaced.
        unsafe { body.row(x, repeated, output, cols) };
        x = std::array::from_fn(|k| x[k].wrapping_offset(step[k]));
        from = std::array::from_fn(|k| from[k].wrapping_offset(input_row[k]));
        output = output.wrapping_offset(block.output_row);
        rows -= 1;
    }
}
