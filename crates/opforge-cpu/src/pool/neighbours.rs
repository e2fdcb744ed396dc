//! What a vector of neighbouring windows reads from a line.

use std::ops::Range;

use super::windows::{MAX_STEP, Rows};
use crate::conv::Window;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Bits, Float, FloatElem, Simd, Vector};

/// Windows that move along lines of `width` elements.
#[derive(Clone)]
pub(super) struct Neighbours<F> {
    width: usize,
    window: Window,
    /// How far each window of a vector is from the first, as integers.
    offsets: [F; 16],
    /// The first windows of vectors all of whose windows can be read as vectors.
    whole: Range<usize>,
}

/// The integer vectors that go with the vectors of `E`.
pub(super) type Integers<E, S> = <VectorOf<E, S> as Float>::Bits;
/// The masks of the vectors of `E`.
pub(super) type Lanes<E, S> = <VectorOf<E, S> as Float>::Mask;

impl<F: FloatElem> Neighbours<F> {
    /// Of windows of `kernel` elements.
    pub fn new(width: usize, window: Window, kernel: usize) -> Self {
        let offsets = std::array::from_fn(|i| F::of_integer((i * window.stride) as i64));
        Neighbours { width, window, offsets, whole: whole(width, &window, kernel) }
    }

    /// Where the window `first` has its element `tap`: before or beyond the line, perhaps.
    #[inline(always)]
    pub fn position(&self, first: usize, tap: usize) -> isize {
        (first * self.window.stride + tap * self.window.dilation) as isize - self.window.padding as isize
    }

    /// How far each window of a vector is from the first.
    #[inline(always)]
    pub fn offsets<S: Simd, E: StoredFloat<Compute = F>>(&self) -> Integers<E, S> {
        // SAFETY: no vector has more lanes than the array.
        unsafe { VectorOf::<E, S>::load(self.offsets.as_ptr()) }.to_bits()
    }

    /// The elements that a vector of windows reads, the first of them at `from`, not yet in their lanes; 0 beyond the line. What lanes come from
    /// is the same for every line: vectors of several may be combined before they are arranged.
    ///
    /// # Safety
    /// `line` is readable for `width` elements.
    #[inline(always)]
    pub unsafe fn read<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        line: *const E,
        from: isize,
    ) -> [VectorOf<E, S>; 2] {
        let (lanes, zero) = (VectorOf::<E, S>::LANES as isize, VectorOf::<E, S>::splat(0.0));
        let begin = from.max(0);
        let room = self.width as isize - begin;
        // SAFETY: `part` and `elements` are asked for positions from `begin >= 0` on, `room` of which are left of the line's `width`.
        unsafe {
            match self.window.stride {
                1 if from >= 0 => [part::<S, E>(line, begin, room), zero],
                1 | 2 => [part::<S, E>(line, begin, room), part::<S, E>(line, begin + lanes, room - lanes)],
                stride @ (3 | 4) if from >= 0 && room >= stride as isize * lanes => {
                    let mut vectors = [zero; MAX_STEP];
                    for (k, vector) in vectors[..stride].iter_mut().enumerate() {
                        *vector = E::load::<S>(line.offset(from + k as isize * lanes));
                    }
                    [self.pick::<S, E>(vectors, 0), zero]
                }
                stride => {
                    let mut elements = [E::default(); 16];
                    for (lane, element) in elements[..lanes as usize].iter_mut().enumerate() {
                        let at = from + (lane * stride) as isize;
                        if (0..self.width as isize).contains(&at) {
                            *element = *line.offset(at);
                        }
                    }
                    [E::load::<S>(elements.as_ptr()), zero]
                }
            }
        }
    }

    /// Element `tap` of each window, in its lane, of the vectors that the windows' first elements lie in: as many as windows are elements apart.
    #[inline(always)]
    fn pick<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        [a, b, c, d]: [VectorOf<E, S>; MAX_STEP],
        tap: usize,
    ) -> VectorOf<E, S> {
        let (stride, beyond) = (self.window.stride, Integers::<E, S>::splat(2 * VectorOf::<E, S>::LANES as i64));
        let places = self.offsets::<S, E>() + Integers::<E, S>::splat(tap as i64);
        let low = a.lookup(b, places);
        if stride <= 2 {
            return low;
        }
        VectorOf::<E, S>::select(beyond.gt(places), low, c.lookup(d, places - beyond))
    }

    /// What `f` makes of the elements of `count` windows from `first` on, of `kernel` elements of each row; `start` changes nothing: tap by tap what it
    /// makes of the rows, then of the taps.
    ///
    /// # Safety
    /// `x` is a plane with lines of `width` elements, `rows` of it.
    #[inline(always)]
    pub unsafe fn fold<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        x: *const E,
        [first, count, kernel]: [usize; 3],
        rows: &Rows,
        start: VectorOf<E, S>,
        f: impl Fn(VectorOf<E, S>, VectorOf<E, S>) -> VectorOf<E, S>,
    ) -> VectorOf<E, S> {
        // SAFETY: as the caller promises; a vector of windows is read whole from a line only if it lies there.
        unsafe {
            if let Some(row) = rows.only()
                && self.whole.contains(&first)
            {
                return self.fold_line::<S, E>(x.add(row).offset(self.position(first, 0)), kernel, start, f);
            }
            if self.are_inside(first, count, kernel) {
                return self.fold_inside::<S, E>(x, self.position(first, 0), kernel, rows, start, f);
            }
            let mut result = start;
            for tap in 0..kernel {
                let from = self.position(first, tap);
                let mut column = [start; 2];
                rows.each(
                    #[inline(always)]
                    |row| {
                        let pair = self.read::<S, E>(x.add(row), from);
                        column = [f(column[0], pair[0]), f(column[1], pair[1])];
                    },
                );
                let (elements, inside) = self.arrange::<S, E>(column, from);
                result = f(result, VectorOf::<E, S>::select(inside, elements, start));
            }
            result
        }
    }

    /// [`Neighbours::fold`] of windows of one line, the first of which begins at `from`.
    ///
    /// # Safety
    /// The line has all vectors that the windows are read as: those of [`whole`].
    #[inline(always)]
    unsafe fn fold_line<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        from: *const E,
        kernel: usize,
        start: VectorOf<E, S>,
        f: impl Fn(VectorOf<E, S>, VectorOf<E, S>) -> VectorOf<E, S>,
    ) -> VectorOf<E, S> {
        let mut result = start;
        // SAFETY: the line is readable from `from` to the end of the last vector.
        unsafe {
            if self.window.stride == 1 {
                for tap in 0..kernel {
                    result = f(result, E::load::<S>(from.add(tap)));
                }
                return result;
            }
            let (even, odd) = (self.offsets::<S, E>(), self.offsets::<S, E>() + Integers::<E, S>::splat(1));
            for tap in (0..kernel).step_by(2) {
                let (low, high) = (E::load::<S>(from.add(tap)), E::load::<S>(from.add(tap + VectorOf::<E, S>::LANES)));
                result = f(result, low.lookup(high, even));
                if tap + 1 < kernel {
                    result = f(result, low.lookup(high, odd));
                }
            }
            result
        }
    }

    /// Whether all elements of some windows lie within their lines, without gaps and at most [`MAX_STEP`] from window to window.
    #[inline(always)]
    fn are_inside(&self, first: usize, count: usize, kernel: usize) -> bool {
        let Window { stride, dilation, .. } = self.window;
        // Of lines without elements windows have none.
        kernel > 0
            && stride <= MAX_STEP
            && dilation == 1
            && self.position(first, 0) >= 0
            && self.position(first + count - 1, kernel - 1) < self.width as isize
    }

    /// [`Neighbours::fold`] of windows that are inside, the first of them at `from`.
    ///
    /// # Safety
    /// As [`Neighbours::fold`].
    #[inline(always)]
    unsafe fn fold_inside<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        x: *const E,
        from: isize,
        kernel: usize,
        rows: &Rows,
        start: VectorOf<E, S>,
        f: impl Fn(VectorOf<E, S>, VectorOf<E, S>) -> VectorOf<E, S>,
    ) -> VectorOf<E, S> {
        let (lanes, stride) = (VectorOf::<E, S>::LANES as isize, self.window.stride);
        let mut result = start;
        // Vectors of what lies `stride` apart hold that many elements of each window.
        for tap in (0..kernel).step_by(stride) {
            let at = from + tap as isize;
            let room = self.width as isize - at;
            let mut columns = [start; MAX_STEP];
            rows.each(
                #[inline(always)]
                |row| {
                    for (k, column) in columns.iter_mut().enumerate() {
                        if k < stride {
                            let skipped = k as isize * lanes;
                            // SAFETY: a line begins at `row`, which has `room` elements from `at` on.
                            *column = f(*column, unsafe { part::<S, E>(x.add(row), at + skipped, room - skipped) });
                        }
                    }
                },
            );
            if stride == 1 {
                result = f(result, columns[0]);
                continue;
            }
            for next in 0..stride.min(kernel - tap) {
                result = f(result, self.pick::<S, E>(columns, next));
            }
        }
        result
    }

    /// The elements in their lanes, and which of them lie within the line.
    #[inline(always)]
    pub fn arrange<S: Simd, E: StoredFloat<Compute = F>>(
        &self,
        [low, high]: [VectorOf<E, S>; 2],
        from: isize,
    ) -> (VectorOf<E, S>, Lanes<E, S>) {
        let (lanes, stride) = (VectorOf::<E, S>::LANES, self.window.stride);
        let count = (self.width as isize - from).max(0) as usize;
        let count = if stride == 1 { count } else { count.div_ceil(stride) };
        let before_end = VectorOf::<E, S>::first(count.min(lanes));
        if from >= 0 {
            let elements = if stride == 2 { low.lookup(high, self.offsets::<S, E>()) } else { low };
            return (elements, before_end);
        }
        let positions = self.offsets::<S, E>() + Integers::<E, S>::splat(from as i64);
        let elements = if stride <= 2 { low.lookup(high, positions) } else { low };
        (elements, before_end & positions.gt(Integers::<E, S>::splat(-1)))
    }
}

/// The first windows of vectors that are read whole, of lines of `width` elements: windows without gaps, at most two elements apart.
fn whole(width: usize, window: &Window, kernel: usize) -> Range<usize> {
    /// No vector has more lanes.
    const LANES: usize = 16;
    let Window { stride, padding, dilation } = *window;
    if stride > 2 || dilation > 1 || kernel == 0 {
        return 0..0;
    }
    // The last vector ends so far behind the first window's beginning.
    let reach = kernel.next_multiple_of(stride) - stride + stride * LANES;
    let end = (width + padding).checked_sub(reach).map_or(0, |room| room / stride + 1);
    padding.div_ceil(stride)..end
}

/// The elements from `at` on, `room` of them if there are fewer than lanes, and none if it is negative; others are 0.
///
/// # Safety
/// `line` is readable for `room` elements from `at` on, if that is more than none.
#[inline(always)]
unsafe fn part<S: Simd, E: StoredFloat>(line: *const E, at: isize, room: isize) -> VectorOf<E, S> {
    // SAFETY: `line` is readable from `at` on for `room` elements, of which no more than a vector are read.
    unsafe {
        match room {
            room if room >= VectorOf::<E, S>::LANES as isize => E::load::<S>(line.offset(at)),
            room if room <= 0 => VectorOf::<E, S>::splat(0.0),
            room => E::load_partial::<S>(line.offset(at), room as usize),
        }
    }
}

/// Rounds and writes the first `count` windows' results.
///
/// # Safety
/// `to` is valid for `count` elements, at most as many as there are lanes.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, E: StoredFloat>(results: VectorOf<E, S>, to: *mut E, count: usize) {
    // SAFETY: `to` is writable for `count` results, all lanes or fewer.
    unsafe {
        match count == VectorOf::<E, S>::LANES {
            true => E::store::<S>(results, to),
            false => E::store_partial::<S>(results, to, count),
        }
    }
}
