//! Maxima of floats under windows of any width: columns of rows first, then runs of columns.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::WithDType;
use opforge_runtime::HostKernel;

use super::windows::{MAX_STEP, Planes, Span};
use crate::loops::tasks::{Job, prepare};
use crate::loops::work::look_at;
use crate::matmul::operand::Summed;
use crate::simd::stored::{StoredFloat, VectorOf, each_vector};
use crate::simd::{Float, Routine, Simd, Vector};

/// Windows whose elements lie side by side, adaptive or too far apart for vectors of neighbouring ones.
pub(super) struct MaxWide<E> {
    planes: Planes,
    element: PhantomData<E>,
}

impl<E: Summed> MaxWide<E> {
    /// The kernel, unless windows have gaps or neighbouring ones are read as vectors.
    pub fn prepare(planes: Planes) -> Option<Arc<dyn HostKernel>> {
        let axis = &planes.axes[2];
        if axis.sliding().is_some_and(|(_, window)| window.stride <= MAX_STEP || window.dilation > 1) {
            return None;
        }
        let (tasks, work) = (planes.count * planes.lines(), axis.output.saturating_mul(planes.window()));
        let memory = axis.input * size_of::<E::Compute>();
        Some(prepare(MaxWide::<E> { planes, element: PhantomData }, tasks, work, memory))
    }

    /// The greatest of each column of a line's rows.
    ///
    /// # Safety
    /// `x` is a plane of the input; `columns` are writable for as many elements as its lines have.
    #[inline(always)]
    unsafe fn columns<S: Simd>(&self, x: *const E, line: usize, columns: *mut E::Compute) {
        let (width, lanes) = (self.planes.axes[2].input, VectorOf::<E, S>::LANES);
        let mut has_row = false;
        self.planes.each_row(
            line,
            #[inline(always)]
            |row| {
                each_vector(
                    width,
                    lanes,
                    #[inline(always)]
                    |i, n| {
                        look_at(i);
                        // SAFETY: `n` elements of the row and of the columns lie at `i`; the first row has written all columns.
                        unsafe {
                            let mut most = load::<S, E>(x.add(row + i), n);
                            if has_row {
                                most = load::<S, E::Compute>(columns.add(i), n).max(most);
                            }
                            store::<S, E::Compute>(most, columns.add(i), n);
                        }
                    },
                );
                has_row = true;
            },
        );
        if !has_row {
            // SAFETY: the columns are the caller's, as many as lines have elements.
            unsafe { std::slice::from_raw_parts_mut(columns, width) }.fill(E::Compute::from_f64(f64::NEG_INFINITY));
        }
    }
}

impl<E: Summed> Routine for MaxWide<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let (lines, axis) = (self.planes.lines(), &self.planes.axes[2]);
        let columns = job.memory.cast::<E::Compute>();
        for task in job.tasks.clone() {
            // SAFETY: the plane is one of the input's, the line one of the output's, and the memory holds a line of the input.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(task / lines * self.planes.input());
                self.columns::<S>(x, task % lines, columns);
                let to = job.outputs[0].cast::<E>().add(task * axis.output);
                for output in 0..axis.output {
                    let Span { first, count, .. } = axis.span(output);
                    let most = greatest::<S, E>(columns.add(first), count);
                    E::store_partial::<S>(most, to.add(output), 1);
                }
            }
        }
    }
}

/// The greatest of some elements, in every lane; NaN is greatest, and none give the least.
///
/// # Safety
/// `x` is valid for reading `count` elements.
#[inline(always)]
unsafe fn greatest<S: Simd, E: Summed>(x: *const E::Compute, count: usize) -> VectorOf<E, S> {
    let least = VectorOf::<E, S>::splat(f64::NEG_INFINITY);
    let mut most = least;
    each_vector(
        count,
        VectorOf::<E, S>::LANES,
        #[inline(always)]
        |i, n| {
            // SAFETY: `n` elements lie at `i`.
            let elements = unsafe { load::<S, E::Compute>(x.add(i), n) };
            most = most.max(VectorOf::<E, S>::select(VectorOf::<E, S>::first(n), elements, least));
        },
    );
    Vector::splat_elem(most.fold(
        #[inline(always)]
        |a, b| a.max(b),
    ))
}

/// # Safety
/// `from` is valid for reading `n` elements, at most as many as there are lanes.
#[inline(always)]
unsafe fn load<S: Simd, E: StoredFloat>(from: *const E, n: usize) -> VectorOf<E, S> {
    // SAFETY: `n` elements are readable, all lanes or fewer.
    unsafe { if n == VectorOf::<E, S>::LANES { E::load::<S>(from) } else { E::load_partial::<S>(from, n) } }
}

/// # Safety
/// `to` is valid for writing `n` elements, at most as many as there are lanes.
#[inline(always)]
unsafe fn store<S: Simd, E: StoredFloat>(v: VectorOf<E, S>, to: *mut E, n: usize) {
    // SAFETY: `n` elements are writable, all lanes or fewer.
    unsafe { if n == VectorOf::<E, S>::LANES { E::store::<S>(v, to) } else { E::store_partial::<S>(v, to, n) } }
}
