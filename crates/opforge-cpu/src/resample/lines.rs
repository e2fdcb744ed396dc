//! Resampling of lines as weighted sums: linear, cubic and antialiased filters.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;

use super::Planes;
use super::columns::{Columns, SLACK};
use crate::loops::tasks::{Job, prepare as prepare_tasks};
use crate::matmul::operand::Summed;
use crate::simd::lines::{narrow, widen};
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Float, FloatElem, Routine, Simd, Vector};

/// The kernel for floats. Of the two passes, the one along lines costs more: it comes first where lines become more, and its results are kept for
/// the lines that share them; else it comes last.
pub(super) fn prepare<E: Summed>(planes: Planes) -> Result<Arc<dyn HostKernel>> {
    let [_, _, taps] = &planes.taps;
    let (len, lines) = (taps.len(), planes.lines());
    let kept = planes.taps[..2].iter().map(|taps| taps.reach().max(1)).collect::<Vec<_>>();
    let columns = Columns::<E::Compute>::new(taps)?;
    let work = len.saturating_mul(taps.most() + planes.taps[0].most() * planes.taps[1].most());
    let tasks = if len == 0 { 0 } else { planes.count * lines };
    let room = |len: usize| (len + SLACK) * size_of::<E::Compute>();
    let both = room(planes.from[2]) + room(len);
    if lines < planes.from[0] * planes.from[1] {
        return Ok(prepare_tasks(Last::<E> { planes, columns }, tasks, work, both));
    }
    let slots = kept[0].saturating_mul(kept[1]);
    let memory = slots.saturating_mul(room(len) + size_of::<usize>()).saturating_add(both);
    Ok(prepare_tasks(First::<E> { planes, columns, kept: [kept[0], kept[1]] }, tasks, work, memory))
}

/// The pass along lines last: what it reads is the sum of some lines.
struct Last<E: Summed> {
    planes: Planes,
    columns: Columns<E::Compute>,
}

impl<E: Summed> Routine for Last<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let ([depth, height, n], lines) = (self.planes.from, self.planes.lines());
        for task in job.tasks.clone() {
            // SAFETY: the tensors hold the plane and the line, which is this task's; the memory holds a line of each side, with SLACK.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(task / lines * depth * height * n);
                let sum = job.memory.cast::<E::Compute>();
                let made = sum.add(n + SLACK);
                let mut onto = Sum { to: sum, n, begun: false };
                self.planes.each_line(
                    task % lines,
                    #[inline(always)]
                    |a, b, weight| {
                        onto.add::<S, E>(x.add((a * height + b) * n), weight);
                    },
                );
                onto.end();
                self.columns.weigh::<S>(sum, made);
                narrow::<S, E>(made, job.outputs[0].cast::<E>().add(task * self.columns.len), self.columns.len);
            }
        }
    }
}

/// The pass along lines first: its results are summed. They are kept in a slot for each line that an output's lines reach.
struct First<E: Summed> {
    planes: Planes,
    columns: Columns<E::Compute>,
    kept: [usize; 2],
}

impl<E: Summed> Routine for First<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let ([depth, height, n], lines, len) = (self.planes.from, self.planes.lines(), self.columns.len);
        let count = self.kept[0] * self.kept[1];
        let has = job.memory.cast::<usize>();
        let line = has.wrapping_add(count).cast::<E::Compute>();
        let sum = line.wrapping_add(n + SLACK);
        let slots = sum.wrapping_add(len + SLACK);
        // SAFETY: the memory holds the row that each slot has, a line of each side and the slots; output lines are disjoint.
        unsafe {
            let has = std::slice::from_raw_parts_mut(has, count);
            has.fill(usize::MAX);
            for task in job.tasks.clone() {
                let plane = task / lines;
                let out = job.outputs[0].cast::<E>().add(task * len);
                let mut onto = Sum { to: if E::EXACT { out.cast() } else { sum }, n: len, begun: false };
                self.planes.each_line(
                    task % lines,
                    #[inline(always)]
                    |a, b, weight| {
                        let row = (plane * depth + a) * height + b;
                        let slot = a % self.kept[0] * self.kept[1] + b % self.kept[1];
                        let made = slots.add(slot * (len + SLACK));
                        if std::mem::replace(&mut has[slot], row) != row {
                            widen::<S, E>(job.inputs[0].cast::<E>().add(row * n), line, n);
                            self.columns.weigh::<S>(line, made);
                        }
                        onto.add::<S, E::Compute>(made, weight);
                    },
                );
                onto.end();
                if !E::EXACT {
                    narrow::<S, E>(sum, out, len);
                }
            }
        }
    }
}

/// A weighted sum of lines.
struct Sum<F> {
    to: *mut F,
    n: usize,
    begun: bool,
}

impl<F: FloatElem> Sum<F> {
    /// Adds a line.
    ///
    /// # Safety
    /// `from` is readable and the sum writable for `n` elements.
    #[inline(always)]
    unsafe fn add<S: Simd, E: StoredFloat<Compute = F>>(&mut self, from: *const E, weight: f64) {
        let lanes = VectorOf::<E, S>::LANES;
        let weight = VectorOf::<E, S>::splat(weight);
        let whole = self.n / lanes * lanes;
        // SAFETY: `from` and the sum have `n` elements; whole vectors end at `whole`, the partial one at `n`.
        unsafe {
            if std::mem::replace(&mut self.begun, true) {
                for i in (0..whole).step_by(lanes) {
                    let sum = VectorOf::<E, S>::load(self.to.add(i));
                    E::load::<S>(from.add(i)).mul_add(weight, sum).store(self.to.add(i));
                }
                if whole < self.n {
                    let (to, rest) = (self.to.add(whole), self.n - whole);
                    let sum = VectorOf::<E, S>::load_partial(to, rest);
                    E::load_partial::<S>(from.add(whole), rest).mul_add(weight, sum).store_partial(to, rest);
                }
            } else {
                for i in (0..whole).step_by(lanes) {
                    (E::load::<S>(from.add(i)) * weight).store(self.to.add(i));
                }
                if whole < self.n {
                    let rest = self.n - whole;
                    let product = E::load_partial::<S>(from.add(whole), rest) * weight;
                    product.store_partial(self.to.add(whole), rest);
                }
            }
        }
    }

    /// Nothing was added where no element is given to: zeros.
    ///
    /// # Safety
    /// The sum is writable for `n` elements.
    #[inline(always)]
    unsafe fn end(self) {
        if !self.begun {
            // SAFETY: the sum is writable for `n` elements.
            unsafe { std::slice::from_raw_parts_mut(self.to, self.n).fill(F::default()) };
        }
    }
}

impl Planes {
    /// Calls `f` with the lines that a line is made of, by their places along the first two dimensions, and their weights.
    #[inline(always)]
    fn each_line(&self, line: usize, mut f: impl FnMut(usize, usize, f64)) {
        let rows = self.taps[1].len();
        for &(a, outer) in self.taps[0].of(line / rows) {
            for &(b, inner) in self.taps[1].of(line % rows) {
                f(a, b, outer * inner);
            }
        }
    }
}
