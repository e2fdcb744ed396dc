//! Maxima of floats under sliding windows, a vector of neighbouring windows at a time.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_runtime::Kernel;

use super::windows::Planes;
use crate::simd::{Bits, Float, FloatElem, Routine, Simd};
use crate::split::{Split, Summed, narrow};
use crate::stored::VectorOf;
use crate::tasks::{Job, prepare};

/// Elements after each array of working memory: no vector has more lanes.
const SLACK: usize = 16;

/// A line of the input is copied with the padding that windows reach into, divided so that what neighbouring windows read lies next to each
/// other; beside it lies a table of the elements' positions, -1 in the padding. Places are kept in integers as wide as the arithmetic.
pub(super) struct MaxLines<E> {
    planes: Planes,
    split: Split,
    /// Where windows read the divided line, element after element.
    taps: Vec<usize>,
    /// The padded line's positions that the input has.
    inside: Range<usize>,
    element: PhantomData<E>,
}

impl<E: Summed> MaxLines<E> {
    /// The kernel, unless windows are adaptive, or places or the padded line too large.
    pub fn prepare(planes: Planes) -> Option<Arc<dyn Kernel>> {
        let axis = &planes.axes[2];
        let (kernel, window) = axis.sliding()?;
        let extent = axis.output.saturating_sub(1) * window.stride + (kernel - 1) * window.dilation + 1;
        if planes.input() > i32::MAX as usize || extent > 4 * axis.input + 1024 {
            return None;
        }
        let split = Split::new(extent, window.stride);
        let taps = (0..kernel).map(|k| split.at(k * window.dilation)).collect();
        let inside = window.padding.min(extent)..extent.min(window.padding + axis.input);
        let room = 2 * (split.len() + SLACK) + 2 * (axis.output + SLACK);
        let work = axis.output.saturating_mul(planes.window());
        let routine = MaxLines::<E> { planes, split, taps, inside, element: PhantomData };
        Some(prepare(routine, planes.count * planes.lines(), work, room * size_of::<E::Compute>()))
    }

    /// The padded line's positions, divided as it is.
    ///
    /// # Safety
    /// `table` is valid for them and the slack.
    unsafe fn fill_table(&self, table: *mut E::Compute) {
        for position in 0..self.split.len() {
            let inside = self.inside.contains(&position);
            let number = if inside { (position - self.inside.start) as i64 } else { -1 };
            // SAFETY: by the contract; places are as wide as the arithmetic.
            unsafe { write_place(table, self.split.at(position), number) };
        }
    }

    /// Takes a line, whose first place is `row`, into what is greatest so far, and where.
    ///
    /// # Safety
    /// The arrays have the lengths that [`MaxLines::prepare`] has given them, and are initialised.
    #[inline(always)]
    unsafe fn take<S: Simd>(
        &self,
        row: usize,
        [line, table]: [*const E::Compute; 2],
        [best, places]: [*mut E::Compute; 2],
    ) {
        type Integers<E, S> = <VectorOf<E, S> as Float>::Bits;
        let (zero, row) = (Integers::<E, S>::splat(0), Integers::<E, S>::splat(row as i64));
        let none = Integers::<E, S>::splat(-1);
        for i in (0..self.planes.axes[2].output).step_by(VectorOf::<E, S>::LANES) {
            // SAFETY: by the contract; vectors at the end read into the slack.
            unsafe {
                let mut most = VectorOf::<E, S>::load(best.add(i));
                let mut place = VectorOf::<E, S>::load(places.add(i));
                for &tap in &self.taps {
                    let x = VectorOf::<E, S>::load(line.add(tap + i));
                    let at = VectorOf::<E, S>::load(table.add(tap + i)).to_bits();
                    // Without a place yet, anything within the input is taken.
                    let beats = x.gt(most) | x.is_nan() | zero.gt(place.to_bits());
                    let taken = beats & at.gt(none);
                    most = VectorOf::<E, S>::select(taken, x, most);
                    place = VectorOf::<E, S>::select(taken, VectorOf::<E, S>::from_bits(at + row), place);
                }
                most.store(best.add(i));
                place.store(places.add(i));
            }
        }
    }
}

impl<E: Summed> Routine for MaxLines<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let planes = &self.planes;
        let (lines, n) = (planes.lines(), planes.axes[2].output);
        let line = job.memory.cast::<E::Compute>();
        let table = line.wrapping_add(self.split.len() + SLACK);
        let best = table.wrapping_add(self.split.len() + SLACK);
        let places = best.wrapping_add(n + SLACK);
        let none = VectorOf::<E, S>::from_bits(<VectorOf<E, S> as Float>::Bits::splat(-1));
        // SAFETY: by the contract of the kernel; lines of the outputs are disjoint, and the memory holds the four arrays.
        unsafe {
            std::slice::from_raw_parts_mut(line, self.split.len()).fill(E::Compute::default());
            self.fill_table(table);
            for task in job.tasks.clone() {
                let x = job.inputs[0].cast::<E>().add(task / lines * planes.input());
                for i in (0..n).step_by(VectorOf::<E, S>::LANES) {
                    VectorOf::<E, S>::splat(f64::NEG_INFINITY).store(best.add(i));
                    none.store(places.add(i));
                }
                planes.each_row(task % lines, |row| {
                    self.split.fill::<S, E>(x.add(row), line, self.inside.start, self.inside.len());
                    self.take::<S>(row, [line, table], [best, places]);
                });
                narrow::<S, E>(best, job.outputs[0].cast::<E>().add(task * n), n);
                write_places(places, job.outputs[1].cast::<i64>().add(task * n), n);
            }
        }
    }
}

/// # Safety
/// `to` is valid for elements up to `index`.
unsafe fn write_place<F: FloatElem>(to: *mut F, index: usize, place: i64) {
    // SAFETY: by the contract.
    unsafe {
        match F::BITS {
            32 => to.cast::<i32>().add(index).write(place as i32),
            _ => to.cast::<i64>().add(index).write(place),
        }
    }
}

/// # Safety
/// Both sides are valid for `n` elements.
#[inline(always)]
unsafe fn write_places<F: FloatElem>(from: *const F, to: *mut i64, n: usize) {
    // SAFETY: by the contract.
    unsafe {
        let to = std::slice::from_raw_parts_mut(to, n);
        match F::BITS {
            32 => to.iter_mut().enumerate().for_each(|(i, to)| *to = (*from.cast::<i32>().add(i)).into()),
            _ => to.iter_mut().enumerate().for_each(|(i, to)| *to = *from.cast::<i64>().add(i)),
        }
    }
}
