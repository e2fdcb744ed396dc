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

/// The loop body of a step: how to compute a chunk of a row.
pub(super) trait Body<const K: usize> {
    /// Elements of a chunk; with the widest input they take at most 2048 bytes.
    const CHUNK: usize;
    /// Bytes of an element, an input.
    const SIZES: [usize; K];
    /// Bytes of an element of the output.
    const OUT_SIZE: usize;

    /// Writes a chunk full of the element at `from`, which belongs to input `k`.
    ///
    /// # Safety
    /// `from` is readable for an element of the input, `to` writable for a chunk.
    unsafe fn splat(&self, k: usize, from: *const u8, to: *mut u8);

    /// Computes a whole chunk.
    ///
    /// # Safety
    /// The inputs are readable and the output writable for `CHUNK` elements.
    unsafe fn whole(&mut self, x: [*const u8; K], out: *mut u8);

    /// Computes the first `n < CHUNK` elements.
    ///
    /// # Safety
    /// The inputs are readable and the output writable for `n` elements.
    unsafe fn part(&mut self, x: [*const u8; K], out: *mut u8, n: usize);
}

/// Space for a chunk of equal elements.
#[repr(C, align(64))]
struct Splat([u8; 2048]);

/// Runs the body over a block.
///
/// A repeated element becomes a chunk in memory that the loop reads again and again, so that one loop serves every combination.
///
/// # Safety
/// The block's pointers are valid for all its elements, which have the body's sizes.
#[inline(always)]
pub(super) unsafe fn walk<const K: usize, B: Body<K>>(body: &mut B, block: &Block<K>) {
    let mut splats = [const { MaybeUninit::<Splat>::uninit() }; K];
    let mut input = block.input;
    let mut output = block.output;
    // SAFETY: pointers stay within the block's rows by the contract; a splat holds a chunk of any input.
    unsafe {
        for row in 0..block.rows {
            if row > 0 {
                for (x, step) in input.iter_mut().zip(block.input_row) {
                    *x = x.offset(step);
                }
                output = output.offset(block.output_row);
            }
            let (mut x, mut step, mut out) = (input, [0; K], output);
            for k in 0..K {
                step[k] = B::SIZES[k] * B::CHUNK;
                if block.repeated[k] {
                    let splat = splats[k].as_mut_ptr().cast();
                    if row == 0 || block.input_row[k] != 0 {
                        body.splat(k, input[k], splat);
                    }
                    (x[k], step[k]) = (splat, 0);
                }
            }
            let mut left = block.cols;
            while left >= B::CHUNK {
                body.whole(x, out);
                for k in 0..K {
                    x[k] = x[k].add(step[k]);
                }
                out = out.add(B::CHUNK * B::OUT_SIZE);
                left -= B::CHUNK;
            }
            if left > 0 {
                body.part(x, out, left);
            }
        }
    }
}
