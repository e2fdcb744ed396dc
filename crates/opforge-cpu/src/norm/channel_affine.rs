//! Scaling and shifting channels by given numbers.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;

use super::stats_dtype;
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};

/// The kernel for `(x - center) scale + shift` of each channel, the second dimension.
///
/// Inputs, of any strides: x; center, scale and shift, one number a channel, in the dtype that [`stats_dtype`] tells. The output is contiguous,
/// like x.
///
/// # Errors
/// Dtypes other than floats, a rank below 2, tensors of another shape or dtype than told.
pub fn channel_affine(op: &'static str, x: &Meta, numbers: [&Meta; 3], y: &Meta) -> Result<Arc<dyn HostKernel>> {
    let &[batch, channels, ref plane @ ..] = x.dims() else {
        return Err(Error::shape(op, "input", format!("{:?}", x.shape()), "[batch, channels, ..]"));
    };
    super::expect_like(op, "output", y, x)?;
    for (name, meta) in ["center", "scale", "shift"].into_iter().zip(numbers) {
        super::batch_norm::expect(op, name, meta, stats_dtype(x.dtype), &[channels])?;
    }
    let len = plane.iter().product();
    let [center, scale, shift] = numbers;
    with_contiguous(&[x, center, scale, shift], |_| match x.dtype {
        DType::F16 => Ok(plan::<f16>(batch, channels, len)),
        DType::BF16 => Ok(plan::<bf16>(batch, channels, len)),
        DType::F32 => Ok(plan::<f32>(batch, channels, len)),
        DType::F64 => Ok(plan::<f64>(batch, channels, len)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

fn plan<E: StoredFloat>(batch: usize, channels: usize, len: usize) -> Arc<dyn HostKernel> {
    let element = PhantomData;
    match len {
        1 => prepare(Runs::<E> { channels, len: channels, together: true, element }, batch, channels, 0),
        _ => prepare(Runs::<E> { channels, len, together: false, element }, batch * channels, len, 0),
    }
}

/// Runs of elements: those of one channel, or `together` one of each channel.
struct Runs<E> {
    channels: usize,
    len: usize,
    together: bool,
    element: PhantomData<E>,
}

impl<E: StoredFloat> Runs<E> {
    /// A run's center, scale and shift: those of its channel, or of up to a vector of channels from `i` on.
    ///
    /// # Safety
    /// The job's tensors are valid; if runs are `together`, there are `n` channels from `i` on.
    #[inline(always)]
    unsafe fn numbers<S: Simd>(&self, job: &Job, run: usize, i: usize, n: usize) -> [VectorOf<E, S>; 3] {
        let mut numbers = [VectorOf::<E, S>::splat(0.0); 3];
        for (number, at) in numbers.iter_mut().zip(&job.inputs[1..4]) {
            let at = at.cast::<E::Compute>();
            // SAFETY: `at` has a number for each channel: `n` of them from the `i`-th on, or that of the run's channel.
            *number = unsafe {
                match self.together {
                    true => load_strided::<S, E::Compute>(at.add(i), n, 1),
                    false => Vector::splat_elem(at.add(run % self.channels).read()),
                }
            };
        }
        numbers
    }
}

impl<E: StoredFloat> Routine for Runs<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let lanes = VectorOf::<E, S>::LANES;
        for run in job.tasks.clone() {
            // SAFETY: the kernel's tensors are valid; there is a number of each kind for every channel.
            unsafe {
                let x = job.inputs[0].cast::<E>().add(run * self.len);
                let y = job.outputs[0].cast::<E>().add(run * self.len);
                let numbers = self.numbers::<S>(&job, run, 0, lanes.min(self.len));
                each_vector(
                    self.len,
                    lanes,
                    #[inline(always)]
                    |i, n| {
                        let [center, scale, shift] =
                            if self.together { self.numbers::<S>(&job, run, i, n) } else { numbers };
                        let value = (load_strided::<S, E>(x.add(i), n, 1) - center).mul_add(scale, shift);
                        store_strided::<S, E>(value, n, y.add(i), 1);
                    },
                );
            }
        }
    }
}
