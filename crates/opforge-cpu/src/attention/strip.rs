//! Attention of a strip of queries, as many as a matrix product's micro-kernel has columns. Scores are made turned, a row a key, so that lanes are
//! queries and the weights need no packing for their product with the values. Their softmax is carried along from block to block of keys (Milakov and
//! Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022).

use std::marker::PhantomData;

use opforge_core::WithDType;
use opforge_tile::math;

use super::Sizes;
use super::forward::KEYS;
use super::mask::HeadMask;
use crate::matmul::operand::Summed;
use crate::matmul::operand::{Accumulator, Operand};
use crate::matmul::{Ahead, Args, Kernels, Matrix, Packing, Session, pack};
use crate::simd::{Entry, Float, FloatElem, Isa, Routine, Simd, Vector, resolve};

/// What attention is computed in: f32 or f64.
pub(super) trait Element: FloatElem + Accumulator + Operand<Acc = Self> {}
impl<T: FloatElem + Accumulator + Operand<Acc = T>> Element for T {}

/// How strips are computed.
pub(super) struct Strips<E: Summed> {
    kernels: Kernels<E::Compute>,
    /// Of queries, keys, values and weights.
    pub packing: Packing<E>,
    /// Queries of a strip: one register of them, where a head has no more.
    width: usize,
    carry: Entry<Carry<E::Compute>>,
    divide: Entry<Divide<E::Compute>>,
    scale_scores: Entry<Scale<E::Compute>>,
    pair: Entry<Pair<E>>,
    /// What scores are multiplied by.
    scale: f64,
    /// Of a key and of a value.
    lengths: [usize; 2],
    causal: bool,
    /// Whether queries may see no key, and give 0 then.
    masked: bool,
}

/// What is kept of a strip between blocks, all turned: a column a query.
pub(super) struct State<T> {
    /// The scaled queries.
    queries: *mut T,
    /// The sums of weighted values so far, of weights, and the greatest score.
    values: *mut T,
    sum: *mut T,
    max: *mut T,
}

/// Keys and their values, packed, and room for their scores and for a mask of them.
pub(super) struct Packed<T> {
    /// The number of the first key, and how many there are.
    pub first: usize,
    pub count: usize,
    pub keys: *const T,
    pub values: *const T,
    pub scores: *mut T,
    pub mask: *mut T,
}

/// Queries that meet the same keys where later keys are hidden, those after them with weight 0: a multiple of each processor's strips, so that infinite
/// values, which such a weight makes NaN, have the same results everywhere.
const TOGETHER: usize = 32;

/// How many keys the queries before this number meet where later keys are hidden.
pub(super) fn reach(query: usize) -> usize {
    query.next_multiple_of(TOGETHER)
}

/// Packed rows of a matrix, in strips of the micro-kernel's height.
struct Rows<T> {
    at: *const T,
    count: usize,
    /// Elements of a row, all of which are packed.
    length: usize,
}

impl<E: Summed> Strips<E> {
    pub fn new(sizes: &Sizes, masked: bool) -> Self {
        let (kernels, packing) = E::for_products();
        Strips {
            kernels,
            packing,
            width: if sizes.queries <= kernels.lanes() { kernels.lanes() } else { kernels.width() },
            carry: resolve(Isa::current()),
            divide: resolve(Isa::current()),
            scale_scores: resolve(Isa::current()),
            pair: resolve(Isa::current()),
            scale: sizes.how.scale.to_f64(),
            lengths: [sizes.width, sizes.size],
            causal: sizes.how.causal,
            masked: masked || sizes.keys == 0,
        }
    }

    /// What this thread needs while it computes.
    pub fn session(&self) -> Option<Session> {
        self.kernels.session()
    }

    /// Queries of a strip.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows of packed keys and values that lie together.
    pub fn height(&self) -> usize {
        self.kernels.rows()
    }

    /// Whether elements are multiplied in pairs: queries are packed as they are, then, and scores are scaled; weights are packed, too.
    fn has_pairs(&self) -> bool {
        self.packing.unit > 1
    }

    /// Elements of a strip's state.
    pub fn state(&self) -> usize {
        (self.packing.rows(self.lengths[0]) + self.lengths[1] + 2) * self.width()
    }

    /// The state that lies at an address.
    pub fn state_at(&self, at: *mut E::Compute) -> State<E::Compute> {
        let values = at.wrapping_add(self.packing.rows(self.lengths[0]) * self.width());
        let sum = values.wrapping_add(self.lengths[1] * self.width());
        State { queries: at, values, sum, max: sum.wrapping_add(self.width()) }
    }

    /// Begins with a strip's `count` queries, rows of a matrix.
    ///
    /// # Safety
    /// The matrix has `count` rows of a key's length; the state is valid.
    pub unsafe fn begin(&self, queries: Matrix<E>, count: usize, state: &State<E::Compute>) {
        let (width, number) = (self.width(), <E::Compute as WithDType>::from_f64);
        // SAFETY: the state has room for a strip of packed queries and of values, and two rows more.
        unsafe {
            (self.packing.pack)(queries.transposed(), self.lengths[0], count, state.queries, width);
            if !self.has_pairs() {
                for query in std::slice::from_raw_parts_mut(state.queries, self.lengths[0] * width) {
                    *query *= number(self.scale);
                }
            }
            std::slice::from_raw_parts_mut(state.values, (self.lengths[1] + 1) * width).fill(number(0.0));
            std::slice::from_raw_parts_mut(state.max, width).fill(number(f64::NEG_INFINITY));
        }
    }

    /// Lets `count` queries, the first of which is number `query` of its head, attend to a block.
    ///
    /// # Safety
    /// The block's matrices and the state are valid, and the mask for the queries and keys.
    pub unsafe fn attend(
        &self,
        block: &Packed<E::Compute>,
        query: usize,
        count: usize,
        mask: Option<&HeadMask<'_, E::Compute>>,
        state: &State<E::Compute>,
    ) {
        let (seen, width) = (if self.causal { reach(query + count) } else { usize::MAX }, self.width());
        if seen <= block.first {
            return;
        }
        // Whole strips of packed keys, some of which nobody sees.
        let keys = (seen - block.first).min(block.count).next_multiple_of(self.height()).min(block.count);
        let columns = count.next_multiple_of(self.kernels.lanes());
        let [length, size] = [self.packing.rows(self.lengths[0]), self.lengths[1]];
        // SAFETY: the packed block has whole strips of rows of keys and values, of which the first `keys` are used; the scores have a row of `width` for
        // each of them, and so has the state for each row of its matrices.
        unsafe {
            let (queries, scores) = (state.queries.cast_const(), block.scores);
            let rows = Rows { at: block.keys, count: keys, length };
            self.product(rows, length, [queries, scores], columns, false);
            if self.has_pairs() {
                (self.scale_scores)(&Scale(PhantomData), (scores, keys * width, self.scale));
            }
            if self.causal {
                self.hide_later(scores, keys, query, block.first);
            }
            if let Some(mask) = mask {
                mask.apply_turned([query, block.first], [count, keys], scores, width, block.mask);
            }
            let State { values, sum, max, .. } = *state;
            (self.carry)(&Carry(PhantomData), Scores { at: scores, keys, columns, width, values, size, sum, max });
            let (length, depth) = (self.packing.rows(block.count), self.packing.rows(keys));
            if self.has_pairs() {
                (self.pair)(&Pair(PhantomData), (scores, [keys, depth], [columns, width]));
            }
            let rows = Rows { at: block.values, count: size, length };
            self.product(rows, depth, [scores, values], columns, true);
        }
    }

    /// Hides the keys that come after their query.
    ///
    /// # Safety
    /// As [`Strips::attend`].
    unsafe fn hide_later(&self, scores: *mut E::Compute, keys: usize, query: usize, first: usize) {
        let width = self.width();
        for row in (query + 1).saturating_sub(first)..keys {
            let later = (first + row - query).min(width);
            // SAFETY: each key has a row of scores.
            unsafe { std::slice::from_raw_parts_mut(scores.add(row * width), later) }
                .fill(<E::Compute as WithDType>::from_f64(f64::NEG_INFINITY));
        }
    }

    /// Writes, or adds, the product of the first `depth` columns of packed rows with rows of a strip.
    ///
    /// # Safety
    /// The packed rows are readable, `b` has `depth` rows and `c` as many as are packed, of a strip's width.
    unsafe fn product(
        &self,
        a: Rows<E::Compute>,
        depth: usize,
        [b, c]: [*const E::Compute; 2],
        columns: usize,
        add: bool,
    ) {
        // Strips of tiles lie one after the other: kernels take those that are read to their ends together, others singly.
        let is_part = depth < a.length && self.packing.left.is_some();
        let (height, width) = (if is_part { self.packing.whole } else { self.height() }, self.width());
        for i in (0..a.count).step_by(height) {
            let kernel = self.kernels.get(height.min(a.count - i), columns);
            let packed = a.at.wrapping_add(i * a.length);
            // SAFETY: packed rows lie in strips of the kernel's height, `length` for each row before `i`; `b` has `depth` rows, `c` those of the strip.
            unsafe {
                kernel(&Args {
                    depth,
                    a: packed,
                    b,
                    b_row: width,
                    b_offsets: std::ptr::null(),
                    c: c.cast_mut().add(i * width),
                    c_row: width,
                    columns,
                    add,
                    ahead: Ahead::nothing(packed),
                });
            }
        }
    }

    /// Writes a strip's `count` rows of the output.
    ///
    /// # Safety
    /// The state is valid, `to` for the rows, and `room` for a block's scores.
    pub unsafe fn end(&self, state: &State<E::Compute>, count: usize, room: *mut E::Compute, to: *mut E) {
        let (width, size) = (self.width(), self.lengths[1]);
        // SAFETY: the state has `size` rows of a strip's width, which the output has as columns: so many of them at a time as the room has rows.
        unsafe {
            (self.divide)(&Divide(PhantomData), (state.values, state.sum, [size, width], self.masked));
            let values = Matrix { at: state.values.cast_const(), row: 1, column: width };
            if E::EXACT {
                return pack(values, count, size, to.cast(), size);
            }
            for first in (0..size).step_by(KEYS) {
                let some = KEYS.min(size - first);
                pack(values.from(0, first), count, some, room, some);
                (0..count).for_each(|i| E::narrow_all(room.add(i * some), to.add(i * size + first), some));
            }
        }
    }
}

/// Scores of a block, a row a key, and the state that they are added to.
struct Scores<T> {
    at: *mut T,
    keys: usize,
    /// Queries, in whole vectors, and elements from row to row.
    columns: usize,
    width: usize,
    values: *mut T,
    /// Rows of values.
    size: usize,
    sum: *mut T,
    max: *mut T,
}

/// Makes weights of scores, less the greatest so far, and scales what has been summed of lesser ones.
struct Carry<T>(PhantomData<T>);

impl<T: FloatElem> Routine for Carry<T> {
    type Args = Scores<T>;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, x: Scores<T>) {
        let hidden = <T::Vector<S>>::splat(f64::NEG_INFINITY);
        for j in (0..x.columns).step_by(<T::Vector<S>>::LANES) {
            // SAFETY: each row has whole vectors of columns.
            unsafe {
                let old = <T::Vector<S>>::load(x.max.add(j));
                let score = |key: usize| x.at.add(key * x.width + j);
                // Several maxima at once, which do not wait for each other.
                let mut most = [old; 4];
                for key in 0..x.keys {
                    most[key % 4] = most[key % 4].max(<T::Vector<S>>::load(score(key)));
                }
                let max = most[0].max(most[1]).max(most[2].max(most[3]));
                // Of a query that has seen nothing yet, weights are 0, not NaN.
                let shift = <T::Vector<S>>::select(max.eq(hidden), <T::Vector<S>>::splat(0.0), max);
                let mut sum = <T::Vector<S>>::splat(0.0);
                for key in 0..x.keys {
                    let weight = math::exp(<T::Vector<S>>::load(score(key)) - shift);
                    weight.store(score(key));
                    sum = sum + weight;
                }
                let factor = math::exp(old - shift);
                for i in 0..x.size {
                    let value = x.values.add(i * x.width + j);
                    (<T::Vector<S>>::load(value) * factor).store(value);
                }
                <T::Vector<S>>::load(x.sum.add(j)).mul_add(factor, sum).store(x.sum.add(j));
                max.store(x.max.add(j));
            }
        }
    }
}

/// Divides rows by the weights' sums; where `masked`, what has seen nothing becomes 0.
struct Divide<T>(PhantomData<T>);

impl<T: FloatElem> Routine for Divide<T> {
    /// The rows, the sums, the rows' number and length, and whether they are masked.
    type Args = (*mut T, *const T, [usize; 2], bool);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (rows, sums, [count, width], masked): Self::Args) {
        let zero = <T::Vector<S>>::splat(0.0);
        for j in (0..width).step_by(<T::Vector<S>>::LANES) {
            // SAFETY: each row has whole vectors of columns.
            unsafe {
                let sum = <T::Vector<S>>::load(sums.add(j));
                let scale = <T::Vector<S>>::splat(1.0) / sum;
                let scale = if masked { <T::Vector<S>>::select(sum.eq(zero), zero, scale) } else { scale };
                for i in 0..count {
                    let value = rows.add(i * width + j);
                    (<T::Vector<S>>::load(value) * scale).store(value);
                }
            }
        }
    }
}

/// Multiplies scores.
struct Scale<T>(PhantomData<T>);

impl<T: FloatElem> Routine for Scale<T> {
    /// The scores, how many, and what by.
    type Args = (*mut T, usize, f64);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (scores, n, scale): Self::Args) {
        let scale = <T::Vector<S>>::splat(scale);
        for i in (0..n).step_by(<T::Vector<S>>::LANES) {
            // SAFETY: scores are rows of whole vectors.
            unsafe { (<T::Vector<S>>::load(scores.add(i)) * scale).store(scores.add(i)) };
        }
    }
}

/// Packs weights in pairs of rows, in the place of the first of them; rows of zeros come after the last.
struct Pair<E>(PhantomData<E>);

impl<E: Summed> Routine for Pair<E> {
    /// The weights, how many rows there are and are made, their columns and how far apart rows are.
    type Args = (*mut E::Compute, [usize; 2], [usize; 2]);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (weights, [rows, packed], [columns, width]): Self::Args) {
        /// Columns of a strip, at most.
        const WIDEST: usize = 32;
        let zeros = [E::Compute::default(); WIDEST];
        for p in 0..packed {
            // SAFETY: each row has `columns` weights, at most those of a strip; row `p` has been read before it is written.
            unsafe {
                let row = |i: usize| if i < rows { weights.add(i * width).cast_const() } else { zeros.as_ptr() };
                let [first, second] = [2 * p, 2 * p + 1].map(row);
                for j in 0..columns {
                    *weights.add(p * width + j) = E::pair_rounded(*first.add(j), *second.add(j));
                }
            }
        }
    }
}
