//! Averages of the elements under a window, and their gradient, which is the transpose of the same map.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::alloc::Room;
use opforge_runtime::{HostKernel, checkpoint};
use opforge_tile::forms::{Average, Divisor};

use super::average_near::Near;
use super::check_output;
use super::neighbours::Neighbours;
use super::windows::{Planes, Tap};
use crate::conv::split::Split;
use crate::loops::planned::planned;
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::matmul::operand::Summed;
use crate::simd::lines::{add_line, narrow, sum_line, widen};
use crate::simd::{FloatElem, Routine, Simd};

/// Windows up to this size are summed element by element; larger ones share sums of columns.
const NEAR: usize = 16;
/// Lines that are added to one before it is added to the totals: errors grow with the number of additions to one sum.
const RUN: usize = 1024;

/// The kernel for the average of each window of the last `spatial` dimensions.
///
/// Input: x, of any strides. Output: y, contiguous, like x but for those dimensions. `f16` and `bf16` are summed in `f32` and rounded once.
///
/// # Errors
/// Dtypes other than floats, shapes that do not go together, windows whose positions overflow.
pub fn average_pool(
    op: &'static str,
    average: &Average,
    spatial: usize,
    x: &Meta,
    y: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    plan(op, average, spatial, [x, y], false)
}

/// The kernel for the gradient of [`average_pool`]: `dx`, contiguous, from `dy` of any strides.
///
/// # Errors
/// As [`average_pool`].
pub fn average_pool_gradient(
    op: &'static str,
    average: &Average,
    spatial: usize,
    dy: &Meta,
    dx: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    plan(op, average, spatial, [dx, dy], true)
}

fn plan(
    op: &'static str,
    average: &Average,
    spatial: usize,
    [x, y]: [&Meta; 2],
    gradient: bool,
) -> Result<Arc<dyn HostKernel>> {
    let planes = Planes::new(op, &average.windows, spatial, x, y)?;
    let (input, output) = if gradient { (y, x) } else { (x, y) };
    check_output(op, output, input)?;
    let lines = Lines { planes, divisor: average.divisor, split: planes.axes[2].split() };
    let dtype = x.dtype;
    let make = move || match dtype {
        DType::F16 => lines.prepare::<f16>(gradient),
        DType::BF16 => lines.prepare::<bf16>(gradient),
        DType::F32 => lines.prepare::<f32>(gradient),
        DType::F64 => lines.prepare::<f64>(gradient),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    };
    with_contiguous(&[input], |_| planned(planes.axes[2].output, make))
}

/// What both directions share.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub planes: Planes,
    divisor: Divisor,
    /// How lines of the input are divided, so that what neighbouring windows begin with lies next to each other.
    split: Split,
}

impl Lines {
    fn prepare<E: Summed>(self, gradient: bool) -> Result<Arc<dyn HostKernel>> {
        let planes = &self.planes;
        let line = planes.axes[2].output;
        let work = line.saturating_mul(planes.window());
        let divisors = Room::collect((0..line).map(|k| {
            checkpoint();
            E::Compute::from_f64(self.count(2, k))
        }))?;
        // A line of the input, as it is and divided.
        let lines = planes.axes[2].input + self.split.len();
        Ok(if gradient {
            let kernel = Gradient::<E> { lines: self, divisors };
            let totals = if planes.lines() >= RUN { planes.input() } else { 0 };
            let room = (planes.input() + lines + self.split.len() + line + totals) * size_of::<E::Compute>();
            prepare(kernel, planes.count, work.saturating_mul(planes.lines()), room)
        } else {
            let tasks = planes.count * planes.lines();
            match planes.axes[2].sliding() {
                Some((kernel, window)) if planes.window() <= NEAR => {
                    let neighbours = Neighbours::new(planes.axes[2].input, window, kernel);
                    prepare(Near::<E> { lines: self, divisors, kernel, neighbours }, tasks, work, 0)
                }
                _ => {
                    let kernel = Forward::<E> { lines: self, divisors };
                    let totals = planes.axes[2].input.max(line);
                    prepare(kernel, tasks, work, (lines + line + totals) * size_of::<E::Compute>())
                }
            }
        })
    }

    /// What a window's length along one dimension contributes to its divisor.
    fn count(&self, d: usize, output: usize) -> f64 {
        match self.divisor {
            Divisor::Number(n) if d == 2 => n as f64,
            Divisor::Number(_) => 1.0,
            Divisor::Padded => self.planes.axes[d].padded_len(output) as f64,
            Divisor::Inside => self.planes.axes[d].span(output).count as f64,
        }
    }

    /// What the first two dimensions contribute to the divisors of a line.
    #[inline(always)]
    pub fn count_of_line(&self, line: usize) -> f64 {
        let b = self.planes.axes[1].output;
        self.count(0, line / b) * self.count(1, line % b)
    }

    /// Divides a line of sums; `divisors` hold what the last dimension contributes.
    #[inline(always)]
    fn divide<F: FloatElem>(&self, line: usize, sums: &mut [F], divisors: &[F]) {
        let lines = F::from_f64(self.count_of_line(line));
        for (sum, &count) in sums.iter_mut().zip(divisors) {
            *sum /= lines * count;
        }
    }

    /// The sums of a line's windows, from the line as it is and divided.
    ///
    /// # Safety
    /// Both are a line of the input, the sums and totals one of the output.
    #[inline(always)]
    unsafe fn gather<S: Simd, F: Summed<Compute = F>>(
        &self,
        columns: *const F,
        parts: *const F,
        sums: &mut [F],
        totals: *mut F,
    ) {
        let axis = &self.planes.axes[2];
        // SAFETY: the lines are as long as the input's and its split, sums and totals as the output's; taps and spans are within them.
        unsafe {
            match axis.taps() {
                Some(taps) => {
                    sums.fill(F::default());
                    let mut runs = Runs::new(sums.as_mut_ptr(), totals, sums.len());
                    for Tap { from, span } in taps {
                        let parts = parts.wrapping_add(self.split.at(span.first));
                        add_line::<S, F>(parts, runs.sums.add(from), span.count);
                        runs.count::<S>();
                    }
                    runs.finish::<S>();
                }
                None => {
                    for (output, sum) in sums.iter_mut().enumerate() {
                        let span = axis.span(output);
                        *sum = sum_line::<S, F>(columns.add(span.first), span.count);
                    }
                }
            }
        }
    }

    /// Adds each window's share to the positions of a line; the result is in `columns`.
    ///
    /// # Safety
    /// As [`Lines::gather`], with totals for a divided line.
    #[inline(always)]
    unsafe fn spread<S: Simd, F: Summed<Compute = F>>(
        &self,
        shares: &[F],
        columns: *mut F,
        parts: *mut F,
        totals: *mut F,
    ) {
        let axis = &self.planes.axes[2];
        // SAFETY: the lines are as long as the input's and its split, shares as the output's; taps and spans are within them.
        unsafe {
            match axis.taps() {
                Some(taps) => {
                    std::slice::from_raw_parts_mut(parts, self.split.len()).fill(F::default());
                    let mut runs = Runs::new(parts, totals, self.split.len());
                    for Tap { from, span } in taps {
                        let parts = parts.wrapping_add(self.split.at(span.first));
                        add_line::<S, F>(shares.as_ptr().add(from), parts, span.count);
                        runs.count::<S>();
                    }
                    runs.finish::<S>();
                    self.split.join(parts, columns, axis.input);
                }
                None => {
                    let columns = std::slice::from_raw_parts_mut(columns, axis.input);
                    columns.fill(F::default());
                    for (output, &share) in shares.iter().enumerate() {
                        let span = axis.span(output);
                        columns[span.first..][..span.count].iter_mut().for_each(|column| *column += share);
                    }
                }
            }
        }
    }
}

/// A line of sums, which is added to totals every [`RUN`] lines that are added to it.
struct Runs<F> {
    sums: *mut F,
    totals: *mut F,
    len: usize,
    added: usize,
    /// Whether the totals hold anything yet.
    begun: bool,
}

impl<F: Summed<Compute = F>> Runs<F> {
    /// # Safety
    /// Sums, which are zero, and totals are valid for `len` numbers as long as this is used.
    #[inline(always)]
    unsafe fn new(sums: *mut F, totals: *mut F, len: usize) -> Self {
        Runs { sums, totals, len, added: 0, begun: false }
    }

    /// Notes that a line was added.
    #[inline(always)]
    fn count<S: Simd>(&mut self) {
        self.added += 1;
        if self.added == RUN {
            checkpoint();
            self.flush::<S>();
        }
    }

    #[inline(always)]
    fn flush<S: Simd>(&mut self) {
        // SAFETY: `new` demands that both are valid.
        unsafe {
            let sums = std::slice::from_raw_parts_mut(self.sums, self.len);
            if self.begun {
                add_line::<S, F>(self.sums, self.totals, self.len);
            } else {
                std::slice::from_raw_parts_mut(self.totals, self.len).copy_from_slice(sums);
            }
            sums.fill(F::default());
        }
        (self.added, self.begun) = (0, true);
    }

    /// Leaves whole sums.
    #[inline(always)]
    fn finish<S: Simd>(&mut self) {
        if self.begun {
            // SAFETY: `new` demands that both are valid.
            unsafe { add_line::<S, F>(self.totals, self.sums, self.len) };
        }
    }
}

/// Any windows, a line of sums at a time.
struct Forward<E: Summed> {
    lines: Lines,
    divisors: Room<E::Compute>,
}

impl<E: Summed> Routine for Forward<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (planes, split) = (&self.lines.planes, self.lines.split);
        let (lines, n, width) = (planes.lines(), planes.axes[2].output, planes.axes[2].input);
        for task in job.tasks.clone() {
            let (plane, line) = (task / lines, task % lines);
            // SAFETY: both tensors hold the plane, the output's lines are disjoint, and the memory holds the lines that were asked for.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(plane * planes.input());
                let columns = job.memory.cast::<E::Compute>();
                let (parts, sums) = (columns.add(width), columns.add(width + split.len()));
                let totals = sums.add(n);
                std::slice::from_raw_parts_mut(columns, width).fill(E::Compute::default());
                let mut runs = Runs::new(columns, totals, width);
                planes.each_row(
                    line,
                    #[inline(always)]
                    |row| {
                        add_line::<S, E>(x.add(row), columns, width);
                        runs.count::<S>();
                    },
                );
                runs.finish::<S>();
                split.fill::<S, E::Compute>(columns, parts, 0, width);
                let sums = std::slice::from_raw_parts_mut(sums, n);
                self.lines.gather::<S, E::Compute>(columns, parts, sums, totals);
                self.lines.divide(line, sums, &self.divisors);
                narrow::<S, E>(sums.as_ptr(), job.outputs[0].cast::<E>().add(task * n), n);
            }
        }
    }
}

struct Gradient<E: Summed> {
    lines: Lines,
    divisors: Room<E::Compute>,
}

impl<E: Summed> Routine for Gradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (planes, split) = (&self.lines.planes, self.lines.split);
        let (input, output, n, width) = (planes.input(), planes.output(), planes.axes[2].output, planes.axes[2].input);
        for plane in job.tasks.clone() {
            // SAFETY: both tensors hold this plane, nobody else's; the memory holds a plane and the lines that the kernel asked for.
            unsafe {
                let dy = job.inputs[0].cast::<E>().add(plane * output);
                let sums = job.memory.cast::<E::Compute>();
                let columns = sums.add(input);
                let (parts, part_totals) = (columns.add(width), columns.add(width + split.len()));
                let shares = part_totals.add(split.len());
                std::slice::from_raw_parts_mut(sums, input).fill(E::Compute::default());
                let mut runs = Runs::new(sums, shares.add(n), input);
                for line in 0..planes.lines() {
                    widen::<S, E>(dy.add(line * n), shares, n);
                    let shares = std::slice::from_raw_parts_mut(shares, n);
                    self.lines.divide(line, shares, &self.divisors);
                    self.lines.spread::<S, E::Compute>(shares, columns, parts, part_totals);
                    planes.each_row(line, |row| add_line::<S, E::Compute>(columns, sums.add(row), width));
                    runs.count::<S>();
                }
                runs.finish::<S>();
                narrow::<S, E>(sums, job.outputs[0].cast::<E>().add(plane * input), input);
            }
        }
    }
}
