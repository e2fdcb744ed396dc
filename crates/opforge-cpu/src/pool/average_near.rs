//! Averages under small sliding windows, a vector of neighbouring ones at a time.

use opforge_runtime::alloc::Room;

use super::average::Lines;
use super::neighbours::{Neighbours, store};
use super::windows::Rows;
use crate::loops::tasks::Job;
use crate::loops::work::look_at;
use crate::matmul::operand::Summed;
use crate::simd::stored::VectorOf;
use crate::simd::{Float, Routine, Simd, Vector};

/// The windows, and what the last dimension contributes to their divisors.
pub(super) struct Near<E: Summed> {
    pub lines: Lines,
    pub divisors: Room<E::Compute>,
    pub kernel: usize,
    pub neighbours: Neighbours<E::Compute>,
}

impl<E: Summed> Routine for Near<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (planes, lanes) = (&self.lines.planes, VectorOf::<E, S>::LANES);
        let (lines, n) = (planes.lines(), planes.axes[2].output);
        for task in job.tasks.clone() {
            let (plane, line) = (task / lines, task % lines);
            let (rows, count) = (planes.rows(line), VectorOf::<E, S>::splat(self.lines.count_of_line(line)));
            planes.prefetch(job.inputs[0].cast::<E>().wrapping_add(plane * planes.input()), line);
            for first in (0..n).step_by(lanes) {
                look_at(first);
                let rest = lanes.min(n - first);
                // SAFETY: the plane and `rest` windows of the line are the tensors', and each window has a divisor; lines are disjoint.
                unsafe {
                    let x = job.inputs[0].cast::<E>().add(plane * planes.input());
                    let sum = self.sum::<S>(x, [first, rest], &rows);
                    let divisors = VectorOf::<E, S>::load_partial(self.divisors.as_ptr().add(first), rest);
                    store::<S, E>(sum / (count * divisors), job.outputs[0].cast::<E>().add(task * n + first), rest);
                }
            }
        }
    }
}

impl<E: Summed> Near<E> {
    /// The sums of the `count` windows from `first` on.
    ///
    /// # Safety
    /// `x` is a plane of the input, `rows` of it.
    #[inline(always)]
    unsafe fn sum<S: Simd>(&self, x: *const E, [first, count]: [usize; 2], rows: &Rows) -> VectorOf<E, S> {
        // SAFETY: as the caller promises.
        unsafe {
            self.neighbours.fold::<S, E>(
                x,
                [first, count, self.kernel],
                rows,
                VectorOf::<E, S>::splat(0.0),
                #[inline(always)]
                |sum, x| sum + x,
            )
        }
    }
}
