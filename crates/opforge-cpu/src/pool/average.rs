//! Averages of the elements under a window, and their gradient, which is the transpose of the same map.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::Kernel;

use super::check_output;
use super::windows::{Planes, Tap, Windows};
use crate::operand::{Accumulator, Operand};
use crate::simd::{FloatElem, Routine, Simd};
use crate::staged::with_contiguous;
use crate::stored::StoredFloat;
use crate::tasks::{Job, prepare};

/// What the sum over a window is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// The window's elements, those in the padding included.
    Padded,
    /// The window's elements within the input.
    Inside,
    /// A fixed number.
    Number(i64),
}

/// An average over windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Average {
    /// The windows.
    pub windows: Windows,
    /// What their sums are divided by.
    pub divisor: Divisor,
}

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
) -> Result<Arc<dyn Kernel>> {
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
) -> Result<Arc<dyn Kernel>> {
    plan(op, average, spatial, [dx, dy], true)
}

fn plan(
    op: &'static str,
    average: &Average,
    spatial: usize,
    [x, y]: [&Meta; 2],
    gradient: bool,
) -> Result<Arc<dyn Kernel>> {
    let planes = Planes::new(op, &average.windows, spatial, x, y)?;
    let (input, output) = if gradient { (y, x) } else { (x, y) };
    check_output(op, output, input)?;
    let lines = Lines { planes, divisor: average.divisor };
    with_contiguous(&[input], |_| match x.dtype {
        DType::F16 => Ok(lines.prepare::<f16>(gradient)),
        DType::BF16 => Ok(lines.prepare::<bf16>(gradient)),
        DType::F32 => Ok(lines.prepare::<f32>(gradient)),
        DType::F64 => Ok(lines.prepare::<f64>(gradient)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// What both directions share.
#[derive(Clone, Copy)]
struct Lines {
    planes: Planes,
    divisor: Divisor,
}

/// A stored float that is summed in the type it is computed in.
trait Element: StoredFloat<Compute: Accumulator> + Operand<Acc = <Self as StoredFloat>::Compute> {}
impl<E: StoredFloat<Compute: Accumulator> + Operand<Acc = <E as StoredFloat>::Compute>> Element for E {}

impl Lines {
    fn prepare<E: Element>(self, gradient: bool) -> Arc<dyn Kernel> {
        let planes = &self.planes;
        let line = planes.axes[2].output;
        let work = line.saturating_mul(planes.window());
        if gradient {
            let room = (planes.input() + line) * size_of::<E::Compute>();
            let kernel = Gradient::<E> { lines: self, element: PhantomData };
            prepare(kernel, planes.count, work.saturating_mul(planes.lines()), room)
        } else {
            let kernel = Forward::<E> { lines: self, element: PhantomData };
            prepare(kernel, planes.count * planes.lines(), work, line * size_of::<E::Compute>())
        }
    }

    /// Divides a line of sums.
    #[inline(always)]
    fn divide<F: FloatElem>(&self, line: usize, sums: &mut [F]) {
        let [a, b, c] = &self.planes.axes;
        let (i, j) = (line / b.output, line % b.output);
        let count = |k: usize| match self.divisor {
            Divisor::Number(n) => n as f64,
            Divisor::Padded => (a.padded_len(i) * b.padded_len(j) * c.padded_len(k)) as f64,
            Divisor::Inside => (a.span(i).count * b.span(j).count * c.span(k).count) as f64,
        };
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum /= F::from_f64(count(k));
        }
    }
}

struct Forward<E> {
    lines: Lines,
    element: PhantomData<E>,
}

impl<E: Element> Routine for Forward<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let planes = &self.lines.planes;
        let (lines, n) = (planes.lines(), planes.axes[2].output);
        for task in job.tasks.clone() {
            let (plane, line) = (task / lines, task % lines);
            // SAFETY: by the contract of the kernel; lines of the output are disjoint, and the memory holds one.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(plane * planes.input());
                let sums = std::slice::from_raw_parts_mut(job.memory.cast::<E::Compute>(), n);
                sums.fill(E::Compute::default());
                planes.each_row(line, |row| {
                    each_run(planes, |output, position| {
                        let x = Operand::widen(*x.add(row + position));
                        sums[output] = sums[output].plus(x);
                    });
                });
                self.lines.divide(line, sums);
                let y = std::slice::from_raw_parts_mut(job.outputs[0].cast::<E>().add(task * n), n);
                y.iter_mut().zip(sums).for_each(|(y, sum)| *y = E::narrow(*sum));
            }
        }
    }
}

struct Gradient<E> {
    lines: Lines,
    element: PhantomData<E>,
}

impl<E: Element> Routine for Gradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let planes = &self.lines.planes;
        let (input, output, n) = (planes.input(), planes.output(), planes.axes[2].output);
        for plane in job.tasks.clone() {
            // SAFETY: by the contract of the kernel; planes are disjoint, and the memory holds one and a line.
            unsafe {
                let dy = std::slice::from_raw_parts(job.inputs[0].cast::<E>().add(plane * output), output);
                let dx = std::slice::from_raw_parts_mut(job.outputs[0].cast::<E>().add(plane * input), input);
                let sums = std::slice::from_raw_parts_mut(job.memory.cast::<E::Compute>(), input);
                let shares = std::slice::from_raw_parts_mut(job.memory.cast::<E::Compute>().add(input), n);
                sums.fill(E::Compute::default());
                for line in 0..planes.lines() {
                    shares.iter_mut().zip(&dy[line * n..]).for_each(|(share, dy)| *share = Operand::widen(*dy));
                    self.lines.divide(line, shares);
                    planes.each_row(line, |row| {
                        each_run(planes, |output, position| {
                            sums[row + position] = sums[row + position].plus(shares[output]);
                        });
                    });
                }
                dx.iter_mut().zip(sums).for_each(|(dx, sum)| *dx = E::narrow(*sum));
            }
        }
    }
}

/// Calls `f` with every output of a line and every position of the input's line in its window, element after element of the windows.
#[inline(always)]
fn each_run(planes: &Planes, mut f: impl FnMut(usize, usize)) {
    let axis = &planes.axes[2];
    match axis.taps() {
        Some(taps) => taps.for_each(|Tap { from, span }| match span.step {
            1 => (0..span.count).for_each(|i| f(from + i, span.first + i)),
            2 => (0..span.count).for_each(|i| f(from + i, span.first + 2 * i)),
            step => (0..span.count).for_each(|i| f(from + i, span.first + i * step)),
        }),
        None => (0..axis.output).for_each(|output| axis.span(output).positions().for_each(|at| f(output, at))),
    }
}
