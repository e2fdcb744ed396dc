//! Nearest-neighbour resampling: each new element is a copy of an old one.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Room;

use super::columns::{Columns, SLACK};
use super::{Planes, Taps};
use crate::loops::tasks::{Job, prepare as prepare_tasks};
use crate::simd::{FloatElem, Routine, Simd};

/// The kernel where every element has one tap.
pub(super) fn prepare(planes: Planes, dtype: DType) -> Result<Arc<dyn HostKernel>> {
    match dtype.size_in_bytes() {
        4 => Ok(Copies { line: Columns::<f32>::new(&planes.taps[2])?, planes }.prepare()),
        8 => Ok(Copies { line: Columns::<f64>::new(&planes.taps[2])?, planes }.prepare()),
        size => by_size!(size, T => Ok(Copies { line: Places::<T>::new(&planes.taps[2])?, planes }.prepare())),
    }
}

/// How the elements of a line are copied.
trait Line: Send + Sync + 'static {
    type Element: Copy;

    /// # Safety
    /// `from` is valid for `n` elements, all that the line has; `to` for the new line; `memory` for `n` elements and [`SLACK`].
    unsafe fn copy<S: Simd>(&self, from: *const Self::Element, n: usize, to: *mut Self::Element, memory: *mut u8);
}

impl<F: FloatElem> Line for Columns<F> {
    type Element = F;

    #[inline(always)]
    unsafe fn copy<S: Simd>(&self, from: *const F, n: usize, to: *mut F, memory: *mut u8) {
        // SAFETY: `memory` holds `n` elements and SLACK, `to` the new line; the table was made for the vectors of this processor.
        unsafe {
            let line = memory.cast::<F>();
            line.copy_from_nonoverlapping(from, n);
            self.pick::<S>(line, to);
        }
    }
}

/// Elements that no vector looks up.
struct Places<T> {
    places: Room<u32>,
    element: PhantomData<T>,
}

impl<T> Places<T> {
    fn new(taps: &Taps) -> Result<Self> {
        let places = Room::collect((0..taps.len()).map(|i| taps.of(i)[0].0 as u32))?;
        Ok(Places { places, element: PhantomData })
    }
}

impl<T: Copy + Send + Sync + 'static> Line for Places<T> {
    type Element = T;

    #[inline(always)]
    unsafe fn copy<S: Simd>(&self, from: *const T, _: usize, to: *mut T, _: *mut u8) {
        for (i, &place) in self.places.iter().enumerate() {
            // SAFETY: `to` has an element for each place, and places are within the line.
            unsafe { to.add(i).write(*from.add(place as usize)) };
        }
    }
}

struct Copies<L> {
    planes: Planes,
    line: L,
}

impl<L: Line> Copies<L> {
    fn prepare(self) -> Arc<dyn HostKernel> {
        let (tasks, len) = (self.planes.count * self.planes.lines(), self.planes.taps[2].len());
        let memory = (self.planes.from[2] + SLACK) * size_of::<L::Element>();
        prepare_tasks(self, if len == 0 { 0 } else { tasks }, len, memory)
    }
}

impl<L: Line> Routine for Copies<L> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let [depth, height, n] = self.planes.from;
        let (lines, rows, len) = (self.planes.lines(), self.planes.taps[1].len(), self.planes.taps[2].len());
        let mut latest = None;
        for task in job.tasks.clone() {
            let (plane, line) = (task / lines, task % lines);
            let [a, b] = [self.planes.taps[0].of(line / rows)[0].0, self.planes.taps[1].of(line % rows)[0].0];
            let row = (plane * depth + a) * height + b;
            // SAFETY: both tensors hold these lines; for the latest row, this job has written the line before `to`.
            unsafe {
                let to = job.outputs[0].cast::<L::Element>().add(task * len);
                match latest == Some(row) {
                    true => to.copy_from_nonoverlapping(to.sub(len), len),
                    false => self.line.copy::<S>(job.inputs[0].cast::<L::Element>().add(row * n), n, to, job.memory),
                }
            }
            latest = Some(row);
        }
    }
}
