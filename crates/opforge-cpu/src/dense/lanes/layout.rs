//! Matrices of a batch to vectors and back: element `(i, j)` of each is in a lane of vector `i * columns + j`. What lies one after another in memory
//! is transposed by blocks of as many elements as there are lanes.

use opforge_core::WithDType;

use super::super::place::Place;
use super::{LANES, MOST_ROWS};
use crate::simd::Vector;

/// Some matrices of a batch: the first, and how many, at most a vector's lanes and not 0.
pub(super) type Chosen = (usize, usize);

/// A matrix as lines of elements: how many, how long, the steps in memory from line to line and from element to element, and those in vectors.
struct Lines {
    count: usize,
    len: usize,
    memory: [isize; 2],
    vectors: [usize; 2],
}

impl Lines {
    /// Lines of contiguous elements if there are any, as long as possible.
    fn of(place: &Place) -> Self {
        let ([m, n], [row, column]) = ([place.rows, place.columns], place.steps());
        if column == 1 && row == n as isize {
            Lines { count: 1, len: m * n, memory: [0, 1], vectors: [0, 1] }
        } else if row == 1 && column != 1 {
            Lines { count: n, len: m, memory: [column, 1], vectors: [1, n] }
        } else {
            Lines { count: m, len: n, memory: [row, column], vectors: [n, 1] }
        }
    }

    /// How many elements of a line are taken by blocks.
    fn in_blocks(&self, lanes: usize) -> usize {
        if self.memory[1] == 1 { self.len - self.len % lanes } else { 0 }
    }
}

/// Where matrices begin; lanes beyond them have the first again.
#[inline(always)]
fn starts(place: &Place, (first, count): Chosen) -> [isize; LANES] {
    let mut starts = [place.offset(first) as isize; LANES];
    (1..count).for_each(|lane| starts[lane] = place.offset(first + lane) as isize);
    starts
}

/// Reads some matrices. Lanes beyond them hold the first again.
///
/// # Safety
/// `base` is valid for reads of the place's tensor, which has these matrices; the processor has the vectors' instructions.
#[inline(always)]
pub(super) unsafe fn read<V: Vector>(place: &Place, base: *const V::Elem, some: Chosen, to: &mut [V]) {
    let (lines, starts, to) = (Lines::of(place), starts(place, some), &mut to[..place.len()]);
    let whole = lines.in_blocks(V::LANES);
    for line in 0..lines.count {
        let (from, first) = (base.wrapping_offset(line as isize * lines.memory[0]), line * lines.vectors[0]);
        for i in (0..whole).step_by(V::LANES) {
            let mut block = [V::splat(0.0); LANES];
            for lane in 0..V::LANES {
                // SAFETY: as many elements of the line of a matrix lie here one after another.
                block[lane] = unsafe { V::load(from.offset(starts[lane] + i as isize)) };
            }
            let block = V::transposed(block);
            (0..V::LANES).for_each(|k| to[first + (i + k) * lines.vectors[1]] = block[k]);
        }
        for i in whole..lines.len {
            let (at, mut elements) = (i as isize * lines.memory[1], [V::Elem::default(); LANES]);
            for lane in 0..V::LANES {
                // SAFETY: an element of a line of a matrix of the tensor.
                elements[lane] = unsafe { from.offset(starts[lane] + at).read() };
            }
            // SAFETY: the array holds 16 elements, and LANES is at most 16.
            to[first + i * lines.vectors[1]] = unsafe { V::load(elements.as_ptr()) };
        }
    }
}

/// Writes what [`read`] would read.
///
/// # Safety
/// `base` is valid for writes of the place's tensor, and nobody else touches these matrices; the processor has the vectors' instructions.
#[inline(always)]
pub(super) unsafe fn write<V: Vector>(place: &Place, base: *mut V::Elem, some: Chosen, from: &[V]) {
    let (lines, starts, from) = (Lines::of(place), starts(place, some), &from[..place.len()]);
    let whole = lines.in_blocks(V::LANES);
    for line in 0..lines.count {
        let (to, first) = (base.wrapping_offset(line as isize * lines.memory[0]), line * lines.vectors[0]);
        for i in (0..whole).step_by(V::LANES) {
            let mut block = [V::splat(0.0); LANES];
            (0..V::LANES).for_each(|k| block[k] = from[first + (i + k) * lines.vectors[1]]);
            let block = V::transposed(block);
            for lane in 0..some.1 {
                // SAFETY: as many elements of the line of a matrix lie here one after another.
                unsafe { block[lane].store(to.offset(starts[lane] + i as isize)) };
            }
        }
        for i in whole..lines.len {
            let (at, mut elements) = (i as isize * lines.memory[1], [V::Elem::default(); LANES]);
            // SAFETY: the array holds 16 elements, and LANES is at most 16; the elements are of matrices of the tensor.
            unsafe {
                from[first + i * lines.vectors[1]].store(elements.as_mut_ptr());
                for lane in 0..some.1 {
                    to.offset(starts[lane] + at).write(elements[lane]);
                }
            }
        }
    }
}

/// The order in which a lane's values ascend, `values` of them first; the others stay.
#[inline(always)]
pub(super) fn ascending<V: Vector>(values: &[V], lane: usize) -> [usize; MOST_ROWS] {
    let mut order = std::array::from_fn(|i| i);
    // SAFETY: the caller names a lane of the vector.
    let own = |i: usize| unsafe { values.as_ptr().add(i).cast::<V::Elem>().add(lane).read() }.to_f64();
    assert!(values.len() <= MOST_ROWS && lane < V::LANES, "values that have a place");
    order[..values.len()].sort_unstable_by(|&i, &j| own(i).total_cmp(&own(j)));
    order
}

/// Writes the matrix of one lane, of which `element` says in which vector it is.
///
/// # Safety
/// As [`write`], of matrix `index`; the lane is one of a vector's.
#[inline(always)]
pub(super) unsafe fn write_lane<V: Vector>(
    (place, base): (&Place, *mut V::Elem),
    (index, lane): (usize, usize),
    from: &[V],
    element: impl Fn(usize, usize) -> usize,
) {
    let to = base.wrapping_add(place.offset(index));
    for (i, j) in (0..place.rows).flat_map(|i| (0..place.columns).map(move |j| (i, j))) {
        // SAFETY: a lane of a vector, and an element of a matrix of the tensor.
        unsafe {
            let own = std::ptr::from_ref(&from[element(i, j)]).cast::<V::Elem>().add(lane);
            to.offset(place.within(i, j)).write(own.read());
        }
    }
}
