//! Weights of convolutions, packed in strips of target channels as the micro-kernels read them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::{num_threads, parallel_for};

use super::Element;
use super::correlate::{Correlation, is_direct};
use crate::copy::Shared;
use crate::matmul::operand::Operand;
use crate::matmul::{Matrix, pack as pack_rows};

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
        unsafe { pack(&self.0, inputs[0].cast(), outputs[0].cast()) };
        Ok(())
    }

    fn cost(&self) -> u64 {
        (self.0.packed / 2) as u64
    }
}

/// Packs all weights, strip by strip.
///
/// # Safety
/// The weight is valid, and `to` for as many elements as are packed.
pub(super) unsafe fn pack<E: Element>(correlation: &Correlation<E>, weight: *const E, to: *mut E::Compute) {
    let (weight, to) = (Shared(weight), Shared(to));
    let (channels, systems) = (&correlation.spec.channels, &correlation.systems);
    let height = correlation.kernels.rows();
    let strips = channels.target.div_ceil(height);
    let jobs = systems.len() * channels.groups * strips;
    let grain = if correlation.packed < 1 << 15 { jobs } else { jobs.div_ceil(4 * num_threads()) };
    parallel_for(jobs, grain, |range| {
        for job in range {
            let (system, i) = (&systems[job / strips / channels.groups], job % strips * height);
            let group = job / strips % channels.groups;
            let rows = height.min(channels.target - i);
            let [by_group, by_row, _] = channels.weight;
            // SAFETY: strips are disjoint parts of the packed weights, and rows are within the weight.
            unsafe {
                let from = weight.get().add(group * by_group + i * by_row);
                let at = system.packed + (group * channels.target + i) * system.reads.len();
                pack_strip(from, by_row, rows, &system.weights, to.get().add(at));
            }
        }
    });
}

/// Packs some rows of the weights.
///
/// # Safety
/// `from` is valid for `rows`, `row` apart, at every offset; `to` for as many elements.
unsafe fn pack_strip<E: Element>(from: *const E, row: usize, rows: usize, offsets: &[usize], to: *mut E::Compute) {
    // SAFETY: `q` is below the number of offsets and `i` below `rows`: `from` is valid at each offset, `to` for `rows` elements of each.
    unsafe {
        if offsets.iter().enumerate().all(|(i, &at)| i == at) {
            return pack_rows::<E>(Matrix { at: from, row: 1, column: row }, offsets.len(), rows, to, rows);
        }
        for (q, &at) in offsets.iter().enumerate() {
            for i in 0..rows {
                *to.add(q * rows + i) = Operand::widen(*from.add(i * row + at));
            }
        }
    }
}
