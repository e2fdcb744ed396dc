//! Maxima of floats under sliding windows, a vector of neighbouring windows at a time.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_runtime::HostKernel;

use super::neighbours::{Integers, Neighbours, store};
use super::windows::{Planes, Rows};
use crate::loops::tasks::{Job, prepare};
use crate::loops::work::look_at;
use crate::matmul::operand::Summed;
use crate::simd::stored::VectorOf;
use crate::simd::{Bits, Float, FloatElem, Routine, Simd, Vector};

/// With the places of what is greatest if `PLACES`. They are kept in integers as wide as the arithmetic.
pub(super) struct MaxNear<E: Summed, const PLACES: bool> {
    planes: Planes,
    kernel: usize,
    neighbours: Neighbours<E::Compute>,
    element: PhantomData<E>,
}

impl<E: Summed, const PLACES: bool> MaxNear<E, PLACES> {
    /// The kernel, unless windows are adaptive or places too large.
    pub fn prepare(planes: Planes) -> Option<Arc<dyn HostKernel>> {
        let axis = &planes.axes[2];
        let (kernel, window) = axis.sliding()?;
        if planes.input() > i32::MAX as usize {
            return None;
        }
        let neighbours = Neighbours::new(axis.input, window, kernel);
        let work = axis.output.saturating_mul(planes.window());
        let tasks = planes.count * planes.lines();
        Some(prepare(MaxNear::<E, PLACES> { planes, kernel, neighbours, element: PhantomData }, tasks, work, 0))
    }

    /// The greatest elements of the windows from `first` on, and where they are: -1 where there is no element.
    ///
    /// # Safety
    /// `x` is a plane of the input, `rows` of it.
    #[inline(always)]
    unsafe fn of_windows<S: Simd>(&self, x: *const E, first: usize, rows: &Rows) -> (VectorOf<E, S>, Integers<E, S>) {
        let mut most = VectorOf::<E, S>::splat(f64::NEG_INFINITY);
        let mut place = Integers::<E, S>::splat(-1);
        let (zero, offsets) = (Integers::<E, S>::splat(0), self.neighbours.offsets::<S, E>());
        rows.each(
            #[inline(always)]
            |row| {
                for tap in 0..self.kernel {
                    let from = self.neighbours.position(first, tap);
                    // SAFETY: `row` is one of the plane's lines, whole from there on.
                    let pair = unsafe { self.neighbours.read::<S, E>(x.add(row), from) };
                    let (elements, inside) = self.neighbours.arrange::<S, E>(pair, from);
                    // Without a place yet, anything within the input is taken.
                    let beats = elements.gt(most) | elements.is_nan() | zero.gt(place);
                    let taken = beats & inside;
                    most = VectorOf::<E, S>::select(taken, elements, most);
                    let at = VectorOf::<E, S>::from_bits(offsets + Integers::<E, S>::splat(row as i64 + from as i64));
                    place = VectorOf::<E, S>::select(taken, at, VectorOf::<E, S>::from_bits(place)).to_bits();
                }
            },
        );
        (most, place)
    }

    /// The greatest elements alone, of `count` windows.
    ///
    /// # Safety
    /// As [`MaxNear::of_windows`].
    #[inline(always)]
    unsafe fn values<S: Simd>(&self, x: *const E, [first, count]: [usize; 2], rows: &Rows) -> VectorOf<E, S> {
        let least = VectorOf::<E, S>::splat(f64::NEG_INFINITY);
        // SAFETY: as the caller promises.
        unsafe {
            self.neighbours.fold::<S, E>(
                x,
                [first, count, self.kernel],
                rows,
                least,
                #[inline(always)]
                |most, x| most.max(x),
            )
        }
    }
}

impl<E: Summed, const PLACES: bool> Routine for MaxNear<E, PLACES> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (lines, n, lanes) = (self.planes.lines(), self.planes.axes[2].output, VectorOf::<E, S>::LANES);
        for task in job.tasks.clone() {
            let rows = self.planes.rows(task % lines);
            // SAFETY: the plane is one of the input's, windows from `first` on are left of the line; lines of the outputs are disjoint.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(task / lines * self.planes.input());
                self.planes.prefetch(x, task % lines);
                for first in (0..n).step_by(lanes) {
                    look_at(first);
                    let (at, count) = (task * n + first, lanes.min(n - first));
                    let to = job.outputs[0].cast::<E>().add(at);
                    if PLACES {
                        let (most, place) = self.of_windows::<S>(x, first, &rows);
                        store::<S, E>(most, to, count);
                        write_places(VectorOf::<E, S>::from_bits(place), job.outputs[1].cast::<i64>().add(at), count);
                    } else {
                        store::<S, E>(self.values::<S>(x, [first, count], &rows), to, count);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `to` is valid for `count` elements, at most as many as there are lanes.
#[inline(always)]
unsafe fn write_places<V: Vector>(places: V, to: *mut i64, count: usize) {
    let mut integers = [V::Elem::default(); 16];
    // SAFETY: `count` places are writable, at most the lanes; the array holds as many as any vector.
    unsafe {
        places.store(integers.as_mut_ptr());
        // A constant count is compiled to vectors.
        if count == V::LANES {
            (0..V::LANES).for_each(|i| to.add(i).write(integers[i].to_integer()));
        } else {
            (0..count).for_each(|i| to.add(i).write(integers[i].to_integer()));
        }
    }
}
