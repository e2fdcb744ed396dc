//! The greatest element under a window, and where it is.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::HostKernel;

use super::Windows;
use super::check_output;
use super::max_near::MaxNear;
use super::max_wide::MaxWide;
use super::windows::{Planes, Span, Tap};
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::loops::work::look_at;
use crate::matmul::operand::Summed;
use crate::matmul::operand::{Accumulator, Operand};
use crate::simd::{Routine, Simd};

/// The kernel for the greatest element of each window of the last `spatial` dimensions and, if asked for, its place in the plane of those
/// dimensions.
///
/// Input: x, of any strides. Outputs: y, like x but for those dimensions, and i64 like y, both contiguous. NaN counts as greatest; of equal
/// elements the first is taken. A window without elements gives the least number of the dtype, at place -1.
///
/// # Errors
/// Bool and complex numbers; shapes and dtypes that do not go together; windows whose positions overflow.
pub fn max_pool(
    op: &'static str,
    windows: &Windows,
    spatial: usize,
    x: &Meta,
    y: &Meta,
    places: Option<&Meta>,
) -> Result<Arc<dyn HostKernel>> {
    let planes = Planes::new(op, windows, spatial, x, y)?;
    check_output(op, y, x)?;
    if let Some(places) = places {
        check_output(op, places, &Meta::contiguous(DType::I64, y.shape()))?;
        if places.shape() != y.shape() {
            return Err(Error::shapes(op, y.shape(), places.shape(), "places of the output's shape"));
        }
    }
    with_contiguous(&[x], |_| {
        let of_floats = match x.dtype {
            DType::F16 => of_floats::<f16>(planes, places),
            DType::BF16 => of_floats::<bf16>(planes, places),
            DType::F32 => of_floats::<f32>(planes, places),
            DType::F64 => of_floats::<f64>(planes, places),
            _ => None,
        };
        if let Some(kernel) = of_floats {
            return Ok(kernel);
        }
        let (tasks, work) = (planes.count * planes.lines(), planes.axes[2].output.saturating_mul(planes.window()));
        let places = places.is_some();
        let memory = if places { 0 } else { planes.axes[2].output * size_of::<i64>() };
        by_number!(op, x.dtype, T => {
            Ok(prepare(MaxOfAny::<T> { planes, places, element: PhantomData }, tasks, work, memory))
        })
    })
}

fn of_floats<E: Summed>(planes: Planes, places: Option<&Meta>) -> Option<Arc<dyn HostKernel>> {
    match places {
        Some(_) => MaxNear::<E, true>::prepare(planes),
        None => MaxWide::<E>::prepare(planes).or_else(|| MaxNear::<E, false>::prepare(planes)),
    }
}

/// Any numbers under any windows.
struct MaxOfAny<T> {
    planes: Planes,
    /// Whether places are asked for; they are needed in either case.
    places: bool,
    element: PhantomData<T>,
}

/// Numbers that windows compare.
trait Compared: WithDType {
    /// What every number but NaN is at least.
    const LEAST: Self;
    /// Whether `self` is taken rather than an earlier `best`.
    fn beats(self, best: Self) -> bool;
}

macro_rules! compared {
    ($($ty:ty: $least:expr, $beats:expr;)*) => {
        $(impl Compared for $ty {
            const LEAST: Self = $least;
            #[inline(always)]
            fn beats(self, best: Self) -> bool {
                let beats: fn(Self, Self) -> bool = $beats;
                beats(self, best)
            }
        })*
    };
    (integers $($ty:ty)*) => { compared! { $($ty: <$ty>::MIN, |x, best| x > best;)* } };
}
compared! {
    f32: f32::NEG_INFINITY, |x, best| x > best || x.is_nan();
    f64: f64::NEG_INFINITY, |x, best| x > best || x.is_nan();
    f16: f16::NEG_INFINITY, |x, best| Operand::widen(x) > Operand::widen(best) || x.is_nan();
    bf16: bf16::NEG_INFINITY, |x, best| Operand::widen(x) > Operand::widen(best) || x.is_nan();
}
compared!(integers u8 u16 u32 u64 i8 i16 i32 i64);

impl<T: Compared> Routine for MaxOfAny<T> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = false;
    const AVX2: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (lines, n) = (self.planes.lines(), self.planes.axes[2].output);
        for task in job.tasks.clone() {
            let (plane, line) = (task / lines, task % lines);
            // SAFETY: the tensors hold the plane and the line; lines of the outputs are disjoint, and the memory holds a line of places.
            unsafe {
                let x = job.inputs[0].cast::<T>().add(plane * self.planes.input());
                let best = std::slice::from_raw_parts_mut(job.outputs[0].cast::<T>().add(task * n), n);
                let places = match self.places {
                    true => job.outputs[1].cast::<i64>().add(task * n),
                    false => job.memory.cast(),
                };
                let places = std::slice::from_raw_parts_mut(places, n);
                best.fill(T::LEAST);
                places.fill(-1);
                match self.planes.axes[2].sliding() {
                    Some(_) => self.planes.each_row(line, |row| self.row(x, row, best, places)),
                    None => self.adaptive(x, line, best, places),
                }
            }
        }
    }
}

impl<T: Compared> MaxOfAny<T> {
    /// Compares with one line of the plane `x`.
    ///
    /// # Safety
    /// A line of the input begins at `x + row`.
    #[inline(always)]
    unsafe fn row(&self, x: *const T, row: usize, best: &mut [T], places: &mut [i64]) {
        let axis = &self.planes.axes[2];
        // SAFETY: `x + row` is a readable line of the input; positions of taps and spans are within it.
        unsafe {
            for (i, tap) in axis.taps().into_iter().flatten().enumerate() {
                look_at(i);
                update_run(x, row, tap, best, places);
            }
        }
    }

    /// Compares with all lines of the plane `x` that adaptive windows have.
    ///
    /// # Safety
    /// The plane is one of the input.
    #[inline(always)]
    unsafe fn adaptive(&self, x: *const T, line: usize, best: &mut [T], places: &mut [i64]) {
        for (output, (best, place)) in best.iter_mut().zip(places).enumerate() {
            let Span { first, count, .. } = self.planes.axes[2].span(output);
            self.planes.each_row(line, |row| {
                // SAFETY: the span is within the line, which is one of the plane's.
                let elements = unsafe { std::slice::from_raw_parts(x.add(row + first), count) };
                // Comparisons that do not wait for each other tell most rows that have nothing to take.
                let beaten = elements.iter().fold(false, |any, x| any | x.beats(*best));
                if *place < 0 || beaten {
                    for (i, &x) in elements.iter().enumerate() {
                        look_at(i);
                        update(x, (row + first + i) as i64, best, place);
                    }
                }
            });
        }
    }
}

/// One comparison. Without a place yet, anything is taken.
#[inline(always)]
fn update<T: Compared>(x: T, at: i64, best: &mut T, place: &mut i64) {
    let take = x.beats(*best) | (*place < 0);
    *best = if take { x } else { *best };
    *place = if take { at } else { *place };
}

/// The comparisons of one element of all windows of a line.
///
/// # Safety
/// The tap's positions are readable from `x + row`.
#[inline(always)]
unsafe fn update_run<T: Compared>(x: *const T, row: usize, tap: Tap, best: &mut [T], places: &mut [i64]) {
    let Tap { from, span } = tap;
    let first = row + span.first;
    let outputs = best[from..][..span.count].iter_mut().zip(&mut places[from..][..span.count]);
    // By constant steps, so that the loops are compiled to vectors.
    macro_rules! steps {
        ($($step:literal)*) => {
            match span.step {
                $($step => outputs.enumerate().for_each(|(i, (best, place))| {
                    // SAFETY: `i` is below `span.count`: a position of the tap.
                    update(unsafe { *x.add(first + i * $step) }, (first + i * $step) as i64, best, place);
                }),)*
                step => outputs.enumerate().for_each(|(i, (best, place))| {
                    // SAFETY: the span has `count` positions, `step` apart, of which this is the `i`-th.
                    update(unsafe { *x.add(first + i * step) }, (first + i * step) as i64, best, place);
                }),
            }
        };
    }
    steps!(1 2);
}

/// The kernel that adds gradients up at the places that [`max_pool`] has found.
///
/// Inputs: the output's gradient `dy` and its places (i64), of any strides and equal shape. Output: `dx`, contiguous, which differs in the
/// last `spatial` dimensions. Negative places are left out.
///
/// # Errors
/// Dtypes other than floats, shapes that do not go together. Running it: a place beyond the plane.
pub fn max_pool_gradient(
    op: &'static str,
    spatial: usize,
    dy: &Meta,
    places: &Meta,
    dx: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    // Only the planes' sizes matter here.
    let planes = Planes::new(op, &Windows::Adaptive, spatial, dx, dy)?;
    check_output(op, dx, dy)?;
    if places.dtype != DType::I64 || places.shape() != dy.shape() {
        return Err(Error::shapes(op, dy.shape(), places.shape(), "i64 places of the gradient's shape"));
    }
    with_contiguous(&[dy, places], |_| match dy.dtype {
        DType::F16 => Ok(scatter::<f16>(op, planes)),
        DType::BF16 => Ok(scatter::<bf16>(op, planes)),
        DType::F32 => Ok(scatter::<f32>(op, planes)),
        DType::F64 => Ok(scatter::<f64>(op, planes)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

fn scatter<E: Operand>(op: &'static str, planes: Planes) -> Arc<dyn HostKernel> {
    Arc::new(Scatter::<E> { op, planes, element: PhantomData })
}

struct Scatter<E> {
    op: &'static str,
    planes: Planes,
    element: PhantomData<E>,
}

impl<E: Operand> HostKernel for Scatter<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        use crate::copy::Shared;
        let (input, output) = (self.planes.input(), self.planes.output());
        let dy = Shared(inputs[0].cast::<E>());
        let places = Shared(inputs[1].cast::<i64>());
        let dx = Shared(outputs[0].cast::<E>());
        let grain = (1usize << 14).div_ceil((input + output).max(1));
        crate::loops::fallible::try_parallel_for(self.planes.count, grain, |range| {
            let room = opforge_runtime::alloc::Workspace::new(input * size_of::<E::Acc>())?;
            for plane in range {
                // SAFETY: each tensor has `count` planes, of which this is one and nobody else's; the room holds one of sums.
                let (sums, dx, dy, places) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(room.as_ptr().cast::<E::Acc>(), input),
                        std::slice::from_raw_parts_mut(dx.get().add(plane * input), input),
                        std::slice::from_raw_parts(dy.get().add(plane * output), output),
                        std::slice::from_raw_parts(places.get().add(plane * output), output),
                    )
                };
                sums.fill(E::Acc::default());
                for (dy, &place) in dy.iter().zip(places).filter(|(_, place)| **place >= 0) {
                    let sum = usize::try_from(place).ok().and_then(|at| sums.get_mut(at));
                    let sum = sum.ok_or_else(|| Error::index(self.op, "place", place, format!("below {input}")))?;
                    *sum = sum.plus(dy.widen());
                }
                dx.iter_mut().zip(&*sums).for_each(|(dx, &sum)| *dx = E::narrow(sum));
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        40 + (self.planes.count * (self.planes.input() + self.planes.output())) as u64
    }
}
