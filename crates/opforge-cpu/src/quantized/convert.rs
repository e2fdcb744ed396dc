//! Blocks from floats, and floats from blocks; a task is a block.

use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;

use opforge_runtime::{HostKernel, checkpoint};

use super::block::{Block, GROUP, Packing};
use crate::loops::tasks::{Job, prepare};
use crate::simd::{Routine, Simd};

/// How much longer it takes to find the scales of a block than to read it, where groups have scales of their own.
const SEARCH: usize = 32;

pub(super) fn pack<F: Packing>(elements: usize) -> Arc<dyn HostKernel> {
    let work = if F::SCALED { F::LEN * SEARCH } else { F::LEN };
    prepare(Pack::<F>(PhantomData), elements / F::LEN, work, 0)
}

pub(super) fn unpack<F: Packing>(elements: usize) -> Arc<dyn HostKernel> {
    prepare(Unpack::<F>(PhantomData), elements / F::LEN, F::LEN, 0)
}

struct Pack<F>(PhantomData<F>);

impl<F: Packing> Routine for Pack<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = false;
    /// Factors of products are packed at every call, scales of groups are sought once.
    const AVX2: bool = !F::SCALED;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        for task in job.tasks {
            checkpoint();
            // SAFETY: tasks are blocks, of which the kernel's constructor found as many in both tensors; each task has its own.
            let (values, bytes) = unsafe {
                let values = job.inputs[0].cast::<f32>().add(task * F::LEN);
                let bytes = job.outputs[0].add(task * F::BYTES);
                (slice::from_raw_parts(values, F::LEN), slice::from_raw_parts_mut(bytes, F::BYTES))
            };
            F::pack(values, bytes);
        }
    }
}

struct Unpack<F>(PhantomData<F>);

impl<F: Packing> Routine for Unpack<F> {
    type Args = Job;
    type Output = ();
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let mut block = Block::new();
        for task in job.tasks {
            // SAFETY: tasks are blocks, of which the kernel's constructor found as many in both tensors; each task has its own, and writes its floats only.
            let (bytes, values) = unsafe {
                let values = job.outputs[0].cast::<f32>().add(task * F::LEN);
                let bytes = job.inputs[0].add(task * F::BYTES);
                (slice::from_raw_parts(bytes, F::BYTES), slice::from_raw_parts_mut(values, F::LEN))
            };
            F::unpack(bytes, &mut block);
            for (g, values) in values.chunks_exact_mut(GROUP).enumerate() {
                let (scale, less) = (block.scale * block.scales[g] as f32, block.offset * block.mins[g] as f32);
                let quants = &block.quants[g * GROUP..][..GROUP];
                values.iter_mut().zip(quants).for_each(|(value, &quant)| *value = scale * f32::from(quant) - less);
            }
        }
    }
}
