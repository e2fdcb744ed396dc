//! Weights of convolutions, packed in strips of target channels as the micro-kernels read them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;

use super::Element;
use super::correlate::{Correlation, is_direct};
use super::product::block_depth;
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::{Matrix, Packing};
use crate::memory::scratch::with_scratch;

/// Products of each weight from which packing is a small part of a convolution, and not worth the memory.
const MANY_PRODUCTS: usize = 2048;

/// Whether a convolution gains from weights that are packed beforehand: few products use what each run would pack.
pub(super) fn is_worth_it<E: Element>(correlation: &Correlation<E>) -> bool {
    let Correlation { spec, packed, .. } = correlation;
    E::EXACT && !is_direct(spec) && *packed > 0 && spec.work / packed < MANY_PRODUCTS
}

/// Of the packed weights.
pub(super) fn bytes<E: Element>(correlation: &Correlation<E>) -> usize {
    correlation.packed * size_of::<E::Compute>()
}

/// Tells the packed weights of convolutions apart, as [`Prepack::arrangement`](opforge_runtime::Prepack::arrangement): by the order of a strip's weights, too.
pub(super) fn arrangement<E: Element>(correlation: &Correlation<E>) -> [usize; 6] {
    let (channels, mut order) = (&correlation.spec.channels, DefaultHasher::new());
    channels.weight.hash(&mut order);
    correlation.systems.iter().for_each(|system| (system.packed, &system.weights).hash(&mut order));
    let height = correlation.kernels.rows();
    [size_of::<E>(), height, channels.groups, channels.target, correlation.packed, order.finish() as usize]
}

/// The kernel that packs a correlation's weight.
pub(super) struct Packer<E: Element>(pub Arc<Correlation<E>>);

impl<E: Element> HostKernel for Packer<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the input is the weight, and the output as large as the packed weights.
        unsafe { pack(&self.0, inputs[0].cast(), outputs[0].cast()) }
    }

    fn cost(&self) -> u64 {
        (self.0.packed / 2) as u64
    }
}

/// Packs all weights, strip by strip.
///
/// # Safety
/// The weight is valid, and `to` for as many elements as are packed.
pub(super) unsafe fn pack<E: Element>(
    correlation: &Correlation<E>,
    weight: *const E,
    to: *mut E::Compute,
) -> Result<()> {
    let (weight, to) = (Shared(weight), Shared(to));
    let (channels, systems) = (&correlation.spec.channels, &correlation.systems);
    let height = correlation.kernels.rows();
    let strips = channels.target.div_ceil(height);
    let jobs = systems.len() * channels.groups * strips;
    let grain = if correlation.packed < 1 << 15 { jobs } else { jobs.div_ceil(4 * num_threads()) };
    try_parallel_for(jobs, grain, |range| {
        for job in range {
            let (system, i) = (&systems[job / strips / channels.groups], job % strips * height);
            let group = job / strips % channels.groups;
            let rows = height.min(channels.target - i);
            let [by_group, by_row, _] = channels.weight;
            let depth = block_depth(&correlation.packing, system.weights.len());
            for (block, offsets) in system.weights.chunks(depth).enumerate() {
                // SAFETY: strips are disjoint parts of the packed weights, and rows are within the weight.
                unsafe {
                    let from = weight.get().add(group * by_group + i * by_row);
                    let at = correlation.weights_at(system, [group, i], block * depth);
                    pack_strip(&correlation.packing, from, by_row, rows, offsets, to.get().add(at))?;
                }
            }
        }
        Ok(())
    })
}

/// Packs some rows of the weights.
///
/// # Safety
/// `from` is valid for `rows`, `row` apart, at every offset; `to` for what the packing makes of them.
unsafe fn pack_strip<E: Element>(
    packing: &Packing<E>,
    from: *const E,
    row: usize,
    rows: usize,
    offsets: &[usize],
    to: *mut E::Compute,
) -> Result<()> {
    let (pack, depth) = (packing.of_left(), offsets.len());
    if offsets.iter().enumerate().all(|(i, &at)| at == offsets[0] + i) {
        // SAFETY: rows are `row` apart, and their elements lie one after another.
        unsafe { pack(Matrix { at: from.add(offsets[0]), row: 1, column: row }, depth, rows, to, rows) };
        return Ok(());
    }
    with_scratch(rows * depth * size_of::<E>(), |scratch| {
        let gathered = scratch.cast::<E>();
        // SAFETY: `from` is valid at each offset of each row, and the scratch has an element for each.
        unsafe {
            for i in 0..rows {
                for (p, &at) in offsets.iter().enumerate() {
                    *gathered.add(p * rows + i) = *from.add(i * row + at);
                }
            }
            pack(Matrix { at: gathered, row: rows, column: 1 }, depth, rows, to, rows);
        }
    })
}
