//! The gradients of images, which is the transpose of sampling, and of grids.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::Sampler;
use super::points::{POINTS, Points};
use crate::conv::MAX_SPATIAL;
use crate::loops::tasks::{Job, prepare};
use crate::matmul::operand::Summed;
use crate::simd::lines::narrow;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Float, FloatElem, Routine, Simd, Vector};

/// Channels whose gradients are made together, from corners that are found once.
const GROUP: usize = 8;

/// The image's gradient, of that of the samples and the grid: a task is a group of channels of an image.
pub(super) struct ImageGradient<E> {
    sampler: Sampler,
    element: PhantomData<E>,
}

impl<E: Summed> ImageGradient<E> {
    pub fn prepare(sampler: Sampler) -> Arc<dyn HostKernel> {
        let group = GROUP.min(sampler.channels);
        let tasks = sampler.images * sampler.channels.div_ceil(GROUP);
        let work = sampler.points.saturating_mul(sampler.corners()).saturating_add(sampler.plane());
        let memory = size_of::<Points<E::Compute>>() + group * sampler.plane() * size_of::<E::Compute>();
        prepare(ImageGradient::<E> { sampler, element: PhantomData }, tasks, work.saturating_mul(group + 1), memory)
    }
}

impl<E: Summed> Routine for ImageGradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let sampler = &self.sampler;
        let (channels, plane, points) = (sampler.channels, sampler.plane(), sampler.points);
        let groups = channels.div_ceil(GROUP);
        for task in job.tasks.clone() {
            let (image, first) = (task / groups, task % groups * GROUP);
            let count = GROUP.min(channels - first);
            // SAFETY: the memory holds a block of points, any bytes of which are numbers, and planes of sums; the tensors have these channels, and
            // those of the output are this task's.
            unsafe {
                let block = &mut *job.memory.cast::<Points<E::Compute>>();
                let sums = job.memory.add(size_of::<Points<E::Compute>>()).cast::<E::Compute>();
                std::slice::from_raw_parts_mut(sums, count * plane).fill(E::Compute::default());
                let dy = job.inputs[0].cast::<E>().add((image * channels + first) * points);
                let grid = job.inputs[1].cast::<E>().add(image * points * sampler.spatial);
                for point in (0..points).step_by(POINTS) {
                    let n = POINTS.min(points - point);
                    block.locate::<S, E>(sampler, grid.add(point * sampler.spatial), n, false);
                    for channel in 0..count {
                        checkpoint();
                        let dy = dy.add(channel * points + point);
                        block.spread::<S, E>(sampler.corners(), dy, sums.add(channel * plane), n);
                    }
                }
                let dx = job.outputs[0].cast::<E>().add((image * channels + first) * plane);
                narrow::<S, E>(sums, dx, count * plane);
            }
        }
    }
}

/// The grid's gradient, of that of the samples, the image and the grid: a task is a block of points.
pub(super) struct GridGradient<E> {
    pub sampler: Sampler,
    pub element: PhantomData<E>,
}

impl<E: Summed> Routine for GridGradient<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let sampler = &self.sampler;
        let (channels, spatial) = (sampler.channels, sampler.spatial);
        // SAFETY: the memory holds it, and any bytes are numbers.
        let block = unsafe { &mut *job.memory.cast::<Points<E::Compute>>() };
        for task in job.tasks.clone() {
            let (image, first, count) = sampler.block(task);
            let at = (image * sampler.points + first) * spatial;
            // SAFETY: the tensors have these points in all channels; the output's are this task's.
            unsafe {
                block.locate::<S, E>(sampler, job.inputs[2].cast::<E>().add(at), count, true);
                block.sums = [[E::Compute::default(); POINTS]; MAX_SPATIAL];
                for channel in image * channels..(image + 1) * channels {
                    checkpoint();
                    let dy = job.inputs[0].cast::<E>().add(channel * sampler.points + first);
                    let x = job.inputs[1].cast::<E>().add(channel * sampler.plane());
                    block.add_slopes::<S, E>(sampler, dy, x, count);
                }
                let to = job.outputs[0].cast::<E>().add(at);
                for d in MAX_SPATIAL - spatial..MAX_SPATIAL {
                    for (p, &sum) in block.sums[d][..count].iter().enumerate() {
                        to.add(p * spatial + MAX_SPATIAL - 1 - d).write(E::narrow(sum));
                    }
                }
            }
        }
    }
}

impl<F: FloatElem> Points<F> {
    /// Adds a channel's gradient to the plane `sums`.
    ///
    /// # Safety
    /// `count` points were located in planes of the size of `sums`; `dy` is readable for as many numbers.
    #[inline(always)]
    unsafe fn spread<S: Simd, E: Summed + StoredFloat<Compute = F>>(
        &mut self,
        corners: usize,
        dy: *const E,
        sums: *mut F,
        count: usize,
    ) {
        let lanes = VectorOf::<E, S>::LANES;
        for corner in 0..corners {
            // SAFETY: arrays hold whole vectors; `count` numbers of `dy` are readable, and the points were located in such planes.
            unsafe {
                for i in (0..count).step_by(lanes) {
                    let dy = E::load_partial::<S>(dy.add(i), lanes.min(count - i));
                    (dy * self.share::<S, E>(corner, i)).store(self.values.as_mut_ptr().add(i));
                }
                self.scatter(corner, sums, count);
            }
        }
    }

    /// Adds what a channel tells of the grid's gradient to the sums.
    ///
    /// # Safety
    /// `count` points were located in planes of the size of `x`, with slopes; `dy` is readable for as many numbers.
    #[inline(always)]
    unsafe fn add_slopes<S: Simd, E: Summed + StoredFloat<Compute = F>>(
        &mut self,
        sampler: &Sampler,
        dy: *const E,
        x: *const E,
        count: usize,
    ) {
        let lanes = VectorOf::<E, S>::LANES;
        for corner in 0..sampler.corners() {
            // SAFETY: arrays hold whole vectors; `count` numbers of `dy` are readable, and the points were located in such planes.
            unsafe {
                self.read::<E>(corner, x, count);
                for i in (0..count).step_by(lanes) {
                    let value = self.value::<S, E>(i) * E::load_partial::<S>(dy.add(i), lanes.min(count - i));
                    for d in MAX_SPATIAL - sampler.spatial..MAX_SPATIAL {
                        let slope = VectorOf::<E, S>::load(self.slope[d][corner].as_ptr().add(i));
                        let sum = self.sums[d].as_mut_ptr().add(i);
                        value.mul_add(slope, Vector::load(sum)).store(sum);
                    }
                }
            }
        }
    }
}
