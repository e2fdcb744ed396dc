//! Images sampled at the places of a grid, and the gradients of images and grids.

mod gradient;
mod line;
mod points;

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::{HostKernel, checkpoint};
pub use opforge_tile::forms::{Between, Outside, Sampled, Sampling};

use crate::conv::MAX_SPATIAL;
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::matmul::operand::Summed;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Float, Routine, Simd, Vector};
use gradient::{GridGradient, ImageGradient};
use line::{Line, MOST};
use points::{POINTS, Points};

/// The kernel for what a form says of images `[n, channels, X..]` with 2 or 3 spatial dimensions, samples `[n, channels, Y..]` and a grid
/// `[n, Y.., spatial]`.
///
/// Inputs are floats of one dtype and of any strides, in the order that [`Sampled`] tells; the output is contiguous. `f16` and `bf16` are computed in
/// `f32` and rounded once.
///
/// # Errors
/// Other dtypes, shapes that do not go together, images without elements, of more than 2^31 - 1 elements or longer than 2^22.
pub fn sample(
    op: &'static str,
    sampling: Sampling,
    part: Sampled,
    inputs: &[&Meta],
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let (x, y, grid) = match part {
        Sampled::Output => (inputs[0], output, inputs[1]),
        Sampled::Image => (output, inputs[0], inputs[1]),
        Sampled::Grid => (inputs[1], inputs[0], output),
    };
    let sampler = Sampler::new(op, sampling, x, y, grid)?;
    let of_one_dtype = inputs.iter().all(|input| input.dtype == output.dtype);
    if !of_one_dtype || !output.layout.is_contiguous() {
        let given = format!("{:?} of {}", output.layout, output.dtype);
        return Err(Error::shape(op, "output", given, format!("contiguous, of {}", x.dtype)));
    }
    with_contiguous(inputs, |_| match output.dtype {
        DType::F16 => Ok(sampler.prepare::<f16>(part)),
        DType::BF16 => Ok(sampler.prepare::<bf16>(part)),
        DType::F32 => Ok(sampler.prepare::<f32>(part)),
        DType::F64 => Ok(sampler.prepare::<f64>(part)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// Images, samples of them, and where those lie.
#[derive(Clone, Copy)]
struct Sampler {
    images: usize,
    channels: usize,
    /// Samples of an image.
    points: usize,
    spatial: usize,
    /// The image's dimensions, missing ones first.
    lines: [Line; MAX_SPATIAL],
}

impl Sampler {
    fn new(op: &'static str, sampling: Sampling, x: &Meta, y: &Meta, grid: &Meta) -> Result<Self> {
        let (rank, spatial) = (x.rank(), x.rank().saturating_sub(2));
        let fits = matches!(spatial, 2 | 3)
            && y.rank() == rank
            && grid.rank() == rank
            && x.dims()[..2] == y.dims()[..2]
            && grid.dims()[0] == x.dims()[0]
            && grid.dims()[1..rank - 1] == y.dims()[2..]
            && grid.dims()[rank - 1] == spatial;
        let lengths = &x.dims()[2.min(rank)..];
        let plane = lengths.iter().try_fold(1usize, |plane, &len| plane.checked_mul(len));
        let in_reach = plane.is_some_and(|plane| (1..=i32::MAX as usize).contains(&plane));
        if !fits || !in_reach || lengths.iter().any(|&len| len > MOST) {
            let accepted = format!("images of 1 to 2^31 - 1 elements, at most {MOST} a dimension, and a grid");
            return Err(Error::shapes(op, x.shape(), grid.shape(), accepted));
        }
        let mut lines = [Line { len: 1, sampling: None }; MAX_SPATIAL];
        for (line, &len) in lines[MAX_SPATIAL - spatial..].iter_mut().zip(lengths) {
            *line = Line { len, sampling: Some(sampling) };
        }
        let points = y.dims()[2..].iter().product();
        Ok(Sampler { images: x.dims()[0], channels: x.dims()[1], points, spatial, lines })
    }

    /// Elements of one channel of an image.
    fn plane(&self) -> usize {
        self.lines.iter().map(|line| line.len).product()
    }

    /// Elements of an image that a sample is made of.
    fn corners(&self) -> usize {
        self.lines.iter().map(Line::taps).product()
    }

    /// Blocks of points of an image.
    fn blocks(&self) -> usize {
        self.points.div_ceil(POINTS)
    }

    /// The image of a task, the first point of its block, and how many there are.
    fn block(&self, task: usize) -> (usize, usize, usize) {
        let (image, first) = (task / self.blocks(), task % self.blocks() * POINTS);
        (image, first, POINTS.min(self.points - first))
    }

    fn prepare<E: Summed>(self, part: Sampled) -> Arc<dyn HostKernel> {
        let memory = size_of::<Points<E::Compute>>();
        // To find a point's corners costs about as much as a channel.
        let of_block = POINTS.min(self.points) * self.corners() * (self.channels + 1);
        let blocks = self.images * self.blocks();
        match part {
            Sampled::Output => prepare(Samples::<E> { sampler: self, element: PhantomData }, blocks, of_block, memory),
            Sampled::Grid => {
                prepare(GridGradient::<E> { sampler: self, element: PhantomData }, blocks, 2 * of_block, memory)
            }
            Sampled::Image => ImageGradient::<E>::prepare(self),
        }
    }
}

/// The samples: a task is a block of points, in all channels.
struct Samples<E> {
    sampler: Sampler,
    element: PhantomData<E>,
}

impl<E: Summed> Routine for Samples<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let sampler = &self.sampler;
        let (channels, plane) = (sampler.channels, sampler.plane());
        // SAFETY: the memory holds it, and any bytes are numbers.
        let block = unsafe { &mut *job.memory.cast::<Points<E::Compute>>() };
        for task in job.tasks.clone() {
            checkpoint();
            let (image, first, count) = sampler.block(task);
            // SAFETY: the grid has these points, the image all channels, and so have the samples, which are this task's.
            unsafe {
                let grid = job.inputs[1].cast::<E>().add((image * sampler.points + first) * sampler.spatial);
                block.locate::<S, E>(sampler, grid, count, false);
                for channel in image * channels..(image + 1) * channels {
                    let x = job.inputs[0].cast::<E>().add(channel * plane);
                    let y = job.outputs[0].cast::<E>().add(channel * sampler.points + first);
                    block.sample::<S, E>(sampler.corners(), x, y, count);
                }
            }
        }
    }
}

impl<F> Points<F> {
    /// Writes the samples of a channel.
    ///
    /// # Safety
    /// `count` points were located in the plane `x`, and `y` is writable for as many samples.
    #[inline(always)]
    unsafe fn sample<S: Simd, E: Summed + StoredFloat<Compute = F>>(
        &mut self,
        corners: usize,
        x: *const E,
        y: *mut E,
        count: usize,
    ) where
        F: crate::simd::FloatElem,
    {
        let lanes = VectorOf::<E, S>::LANES;
        for corner in 0..corners {
            // SAFETY: the points were located in this plane.
            unsafe { self.read::<E>(corner, x, count) };
            for i in (0..count).step_by(lanes) {
                // SAFETY: the arrays hold whole vectors.
                unsafe {
                    let sum = match corner {
                        0 => VectorOf::<E, S>::splat(0.0),
                        _ => Vector::load(self.sums[0].as_ptr().add(i)),
                    };
                    let (value, share) = (self.value::<S, E>(i), self.share::<S, E>(corner, i));
                    value.mul_add(share, sum).store(self.sums[0].as_mut_ptr().add(i));
                }
            }
        }
        for i in (0..count).step_by(lanes) {
            // SAFETY: `count` samples are writable, of which up to `lanes` from `i` on are written.
            unsafe {
                let sum = VectorOf::<E, S>::load(self.sums[0].as_ptr().add(i));
                E::store_partial::<S>(sum, y.add(i), lanes.min(count - i));
            }
        }
    }
}
