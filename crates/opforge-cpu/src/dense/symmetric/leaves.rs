//! Where the halving of tridiagonal matrices ends: parts of few rows, whose eigenvectors are found side by side.

use std::marker::PhantomData;
use std::ops::Range;

use super::super::Failure;
use super::ql::{Rotations, Tridiagonal, diagonalise};
use crate::memory::scratch::with_scratch;
use crate::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, resolve};

/// The most rows of a part.
const ROWS: usize = 24;

/// Rows that are halved again and again to parts which differ by no more than one row.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub rows: usize,
    /// How many times.
    pub levels: u32,
}

impl Halves {
    pub fn new(rows: usize) -> Self {
        Halves { rows, levels: rows.div_ceil(ROWS).next_power_of_two().trailing_zeros() }
    }

    /// Where a part of a level begins; level 0 has one part.
    pub fn start(self, level: u32, part: usize) -> usize {
        ((part << (self.levels - level)) * self.rows) >> self.levels
    }

    fn parts(self) -> usize {
        1 << self.levels
    }
}

/// Overwrites the diagonal with each part's eigenvalues in ascending order, and columns of `vectors`, which hold zeros, with its eigenvectors. What is
/// beside the diagonal between parts counts for nothing.
pub(super) fn solve<E: FloatElem>(halves: Halves, d: &mut [f64], e: &[f64], vectors: &mut [E]) -> Result<(), Failure> {
    let (n, size) = (halves.rows, halves.rows.div_ceil(halves.parts()));
    assert!(
        d.len() == n && e.len() >= n - 1 && vectors.len() == n * n,
        "a tridiagonal matrix, and room for its vectors"
    );
    let whole = with_scratch((size * size + 4 * size) * 64, |room| {
        let args = Args { halves, d: d.as_mut_ptr(), e: e.as_ptr(), vectors: vectors.as_mut_ptr(), room };
        // SAFETY: the slices are as long as the routine demands, as is the room with vectors of 64 bytes; the level is this processor's.
        unsafe { resolve::<Leaves<E>>(Isa::current())(&Leaves(PhantomData), args) }
    })?;
    if whole { Ok(()) } else { Err(Failure::NotConverged) }
}

struct Leaves<E>(PhantomData<E>);

/// A diagonal, one element less beside it, columns of as many rows, and room for `size * size + 4 * size` vectors, where parts have up to `size` rows.
struct Args<E> {
    halves: Halves,
    d: *mut f64,
    e: *const f64,
    vectors: *mut E,
    room: *mut u8,
}

impl<E: FloatElem> Routine for Leaves<E> {
    type Args = Args<E>;
    /// Whether all parts have eigenvectors.
    type Output = bool;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, args: Args<E>) -> bool {
        let halves = args.halves;
        let (size, lanes) = (halves.rows.div_ceil(halves.parts()), <E::Vector<S>>::LANES);
        // SAFETY: the room is large enough, and any bits are a vector.
        let room = unsafe {
            let room = args.room.cast::<E::Vector<S>>();
            room.write_bytes(0, size * size + 4 * size);
            std::slice::from_raw_parts_mut(room, size * size + 4 * size)
        };
        let (vectors, lines) = room.split_at_mut(size * size);
        let (diagonal, lines) = lines.split_at_mut(size);
        let (beside, lines) = lines.split_at_mut(size);
        let (cosines, sines) = lines.split_at_mut(size);
        for first in (0..halves.parts()).step_by(lanes) {
            let last = halves.parts().min(first + lanes);
            for i in 0..size {
                // SAFETY: the arguments are as the routine demands.
                (diagonal[i], beside[i]) = unsafe { args.row::<E::Vector<S>>(first..last, i) };
                vectors[i * size..(i + 1) * size].fill(<E::Vector<S>>::splat(0.0));
                vectors[i * (size + 1)] = <E::Vector<S>>::splat(1.0);
            }
            let mut rotations = Rotations { cosines: &mut *cosines, sines: &mut *sines };
            let mut t = Tridiagonal { diagonal: &mut *diagonal, beside: &mut *beside };
            if diagonalise(&mut t, vectors, &mut rotations) != 0 {
                return false;
            }
            for part in first..last {
                // SAFETY: the arguments are as the routine demands; the lane is one of the vectors'.
                unsafe { args.write::<E::Vector<S>>(part, part - first, diagonal, vectors) };
            }
        }
        true
    }
}

impl<E: FloatElem> Args<E> {
    fn rows(&self, part: usize) -> Range<usize> {
        self.halves.start(self.halves.levels, part)..self.halves.start(self.halves.levels, part + 1)
    }

    /// Row `i` of some parts: what is on the diagonal and beside it, zeros where a part has no such row.
    ///
    /// # Safety
    /// The diagonal has as many elements as there are rows, and the processor the vectors' instructions.
    #[inline(always)]
    unsafe fn row<V: Vector<Elem = E>>(&self, parts: Range<usize>, i: usize) -> (V, V) {
        let (mut own, mut next) = ([E::default(); 16], [E::default(); 16]);
        for (lane, part) in parts.enumerate() {
            let rows = self.rows(part);
            // SAFETY: the rows are of the matrix.
            unsafe {
                if i < rows.len() {
                    own[lane] = E::from_f64(*self.d.add(rows.start + i));
                }
                if i + 1 < rows.len() {
                    next[lane] = E::from_f64(*self.e.add(rows.start + i));
                }
            }
        }
        // SAFETY: the arrays hold 16 elements, and LANES is at most 16.
        unsafe { (V::load(own.as_ptr()), V::load(next.as_ptr())) }
    }

    /// Writes a lane's values, in ascending order, and vectors.
    ///
    /// # Safety
    /// As [`Args::row`], of a lane of the vector.
    #[inline(always)]
    unsafe fn write<V: Vector<Elem = E>>(&self, part: usize, lane: usize, diagonal: &[V], vectors: &[V]) {
        let (rows, size) = (self.rows(part), diagonal.len());
        // SAFETY: as the caller says.
        let of_lane = |x: &V| unsafe { std::ptr::from_ref(x).cast::<E>().add(lane).read() };
        let mut order: [usize; ROWS] = std::array::from_fn(|i| i);
        let order = &mut order[..rows.len()];
        order.sort_unstable_by(|&i, &j| of_lane(&diagonal[i]).to_f64().total_cmp(&of_lane(&diagonal[j]).to_f64()));
        for (j, &column) in order.iter().enumerate() {
            // SAFETY: rows and columns of the part, which are of the matrix.
            unsafe {
                *self.d.add(rows.start + j) = of_lane(&diagonal[column]).to_f64();
                let to = self.vectors.add((rows.start + j) * self.halves.rows + rows.start);
                (0..rows.len()).for_each(|i| *to.add(i) = of_lane(&vectors[i * size + column]));
            }
        }
    }
}
