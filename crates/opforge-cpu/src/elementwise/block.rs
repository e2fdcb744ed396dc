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

/// The bytes from one to the next of inputs of these sizes: none where one is repeated.
#[inline(always)]
pub(super) fn steps<const K: usize>(repeated: [bool; K], sizes: [usize; K]) -> [isize; K] {
    let mut steps = [0; K];
    for k in 0..K {
        steps[k] = if repeated[k] { 0 } else { sizes[k] as isize };
    }
    steps
}

/// Pointers, each so many bytes further.
///
/// Generic over the number of inputs alone, as all that [`walk`] and the bodies share should be: a closure in them is compiled, with what
/// `array::from_fn` makes of it, for each function, type and instruction set.
#[inline(always)]
pub(super) fn advanced<const K: usize>(mut x: [*const u8; K], steps: [isize; K]) -> [*const u8; K] {
    for k in 0..K {
        x[k] = x[k].wrapping_offset(steps[k]);
    }
    x
}

/// Where a block's row is read.
struct Inputs<const K: usize> {
    /// The row's elements, or the splat of a repeated one.
    x: [*const u8; K],
    step: [isize; K],
    /// The row's first element.
    from: [*const u8; K],
    from_step: [isize; K],
    splats: [*mut u8; K],
    /// Repeated inputs whose splat is not of this row's element.
    due: [bool; K],
    /// Repeated inputs whose element is another in each row.
    renewed: [bool; K],
}

impl<const K: usize> Inputs<K> {
    #[inline(always)]
    fn of(block: &Block<K>, splats: &mut [MaybeUninit<Splat>; K]) -> Self {
        let Block { input, input_row, repeated, .. } = *block;
        let (mut x, mut step, mut renewed) = (input, input_row, [false; K]);
        let mut places = [std::ptr::null_mut(); K];
        for k in 0..K {
            places[k] = splats[k].as_mut_ptr().cast();
            if repeated[k] {
                (x[k], step[k], renewed[k]) = (places[k], 0, input_row[k] != 0);
            }
        }
        Inputs { x, step, from: input, from_step: input_row, splats: places, due: repeated, renewed }
    }

    #[inline(always)]
    fn next_row(&mut self) {
        self.x = advanced(self.x, self.step);
        self.from = advanced(self.from, self.from_step);
    }
}

/// Runs the body over a block.
///
/// A repeated element becomes several in memory, so that one loop serves every combination.
///
/// # Safety
/// The block's pointers are valid for all its elements, which have the body's sizes.
#[inline(always)]
pub(super) unsafe fn walk<const K: usize, B: Body<K>>(body: &mut B, block: &Block<K>) {
    let mut splats = [const { MaybeUninit::<Splat>::uninit() }; K];
    let mut inputs = Inputs::of(block, &mut splats);
    let (repeated, mut output, mut rows) = (block.repeated, block.output, block.rows);
    while rows > 0 {
        // Read anew for each row: where the compiler knows the length to stay the same it makes a version of the loops for short rows.
        // SAFETY: a reference is readable.
        let cols = unsafe { (&raw const block.cols).read_volatile() };
        if inputs.due != [false; K] {
            for k in 0..K {
                if inputs.due[k] {
                    // SAFETY: the row's element is readable.
                    unsafe { body.splat(k, inputs.from[k], inputs.splats[k], cols) };
                }
            }
            inputs.due = inputs.renewed;
        }
        // SAFETY: the row is the block's; repeated inputs have been replaced.
        unsafe { body.row(inputs.x, repeated, output, cols) };
        inputs.next_row();
        output = output.wrapping_offset(block.output_row);
        rows -= 1;
    }
}
