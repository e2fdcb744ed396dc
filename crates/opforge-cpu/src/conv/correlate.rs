//! Convolutions and transposed convolutions as blocked products: packed weights times panels gathered from the source.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use opforge_runtime::parallel::{num_threads, parallel_for};

use super::Element;
use super::MAX_SPATIAL;
use super::geometry::{Lengths, Sizes};
use super::panel::panels_len;
use super::phase::Phase;
use super::product::{COLUMNS, DEPTH, PRODUCTS, Total, block_depth};
use super::slab::{Blocks, Read};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::{Accumulator, Operand};
use crate::matmul::{Kernels, Matrix, pack};
use crate::simd::{Entry, Isa, resolve};

/// Multiplications below which one thread is faster than several.
pub(super) const MIN_SHARED_WORK: usize = 1 << 17;
/// Target channels of a group up to which products are not worth packing for.
const DIRECT_ROWS: usize = 2;

/// How channels of the source become channels of the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channels {
    pub groups: usize,
    /// Of a group: those that are summed over, and those that are computed.
    pub source: usize,
    pub target: usize,
    /// The weight's strides along groups, target channels and source channels, in elements.
    pub weight: [usize; 3],
}

/// What is computed: the target from the source and the weight.
pub(super) struct Spec {
    pub op: &'static str,
    pub batch: usize,
    pub channels: Channels,
    pub source: Lengths,
    pub target: Lengths,
    pub k: Lengths,
    pub bias: bool,
    pub work: usize,
}

impl Spec {
    /// The spec of a convolution, or of its transpose.
    pub fn new(op: &'static str, sizes: &Sizes, transposed: bool, bias: bool) -> Self {
        let (taps, work) = (sizes.taps(), sizes.work());
        let group = sizes.outputs * sizes.inputs * taps;
        let (o, c) = (sizes.inputs * taps, taps);
        let (groups, batch, k) = (sizes.groups, sizes.batch, sizes.k);
        if transposed {
            let channels = Channels { groups, source: sizes.outputs, target: sizes.inputs, weight: [group, c, o] };
            Spec { op, batch, channels, source: sizes.y, target: sizes.x, k, bias, work }
        } else {
            let channels = Channels { groups, source: sizes.inputs, target: sizes.outputs, weight: [group, o, c] };
            Spec { op, batch, channels, source: sizes.x, target: sizes.y, k, bias, work }
        }
    }
}

/// A phase, planned.
pub(super) struct Plan {
    pub phase: Phase,
    pub blocks: Blocks,
    pub reads: Vec<Read>,
    /// Where each target position's row of `reads` finds its weight, from the row's first.
    pub weights: Vec<usize>,
    /// Elements of packed weights before this phase's.
    pub packed: usize,
    /// Whether sums are made where they stay: the targets are all of the target's positions, in order, and not rounded.
    pub in_place: bool,
    /// Whether there is so much to sum that sums enter totals.
    pub in_totals: bool,
    /// If the slab is multiplied as it is, without panels: where each read is. For sums that stay where they are made, and lines of targets that
    /// fill registers well.
    pub offsets: Option<Vec<usize>>,
    /// The first task of this phase, and the target channels of a task.
    pub first_task: usize,
    pub rows: usize,
}

impl Plan {
    /// Elements of working memory: the slab, and panels and sums or a row of weights.
    fn room<F: Accumulator>(&self, kernels: &Kernels<F>, direct: bool) -> usize {
        let columns = COLUMNS.min(self.blocks.targets.iter().product());
        let depth = block_depth(self.reads.len());
        // Totals are aligned by themselves.
        let total = if self.in_totals { size_of::<Total<F>>() / size_of::<F>() } else { 0 };
        let sums = if self.in_place { 0 } else { self.rows * columns * (1 + total) + 2 };
        self.blocks.elements + if direct { self.reads.len() } else { panels_len(kernels, depth, columns) + sums }
    }
}

pub(super) struct Correlation<E: Element> {
    pub spec: Spec,
    pub plans: Vec<Plan>,
    tasks: usize,
    /// Elements of all packed weights, and of a task's working memory.
    packed: usize,
    pub room: usize,
    pub kernels: Kernels<E::Compute>,
    entry: Entry<Self>,
}

impl<E: Element> Correlation<E> {
    pub fn prepare(spec: Spec, phases: Vec<Phase>) -> Result<Arc<dyn HostKernel>> {
        let kernels = <E::Compute as Accumulator>::kernels();
        let images = spec.batch * spec.channels.groups;
        let threads = if spec.work < MIN_SHARED_WORK { 1 } else { num_threads() };
        let least = if threads == 1 { 1 } else { (4 * threads).div_ceil(images.max(1)) };
        let (mut plans, mut tasks, mut packed) = (Vec::with_capacity(phases.len()), 0, 0);
        for phase in phases {
            if phase.iter().any(|line| line.count == 0) {
                continue;
            }
            let blocks = Blocks::new(spec.op, &phase, [spec.channels.source, least], spec.source, E::EXACT, false)?;
            let reads = blocks.reads(&phase, spec.k)?;
            let weights = reads.iter().map(|r| r.channel * spec.channels.weight[2] + r.k).collect();
            let whole = |d: usize| phase[d].gap == 1 && phase[d].count == spec.target[d];
            let rows = rows_of_task(spec.channels.target, kernels.rows(), least.div_ceil(blocks.count));
            let per_image = blocks.count * spec.channels.target.div_ceil(rows);
            let in_totals = reads.len() > PRODUCTS * DEPTH;
            let in_place = E::EXACT && (0..MAX_SPATIAL).all(whole) && !in_totals;
            let line = phase[MAX_SPATIAL - 1].count;
            let fills = 5 * line >= 4 * line.next_multiple_of(kernels.lanes());
            let offsets = (in_place && fills && blocks.is_copied()).then(|| reads.iter().map(|r| r.at).collect());
            let plan =
                Plan { in_place, in_totals, offsets, first_task: tasks, packed, rows, weights, reads, blocks, phase };
            tasks += images * per_image;
            packed += spec.channels.groups * spec.channels.target * plan.reads.len();
            plans.push(plan);
        }
        let room = plans.iter().map(|p: &Plan| p.room(&kernels, is_direct(&spec))).max().unwrap_or(0);
        let entry = resolve::<Self>(Isa::current());
        Ok(Arc::new(Correlation { spec, plans, tasks, packed, kernels, entry, room }))
    }

    /// Packs all weights, strip by strip.
    fn pack_weights(&self, weight: *const E) -> Result<Workspace> {
        let packed = Workspace::new(if is_direct(&self.spec) { 0 } else { self.packed * size_of::<E::Compute>() })?;
        if is_direct(&self.spec) {
            return Ok(packed);
        }
        let (weight, to) = (Shared(weight), Shared(packed.as_ptr().cast::<E::Compute>()));
        let (channels, height) = (&self.spec.channels, self.kernels.rows());
        let strips = channels.target.div_ceil(height);
        let jobs = self.plans.len() * channels.groups * strips;
        let grain = if self.packed < 1 << 15 { jobs } else { jobs.div_ceil(4 * num_threads()) };
        parallel_for(jobs, grain, |range| {
            for job in range {
                let (plan, i) = (&self.plans[job / strips / channels.groups], job % strips * height);
                let group = job / strips % channels.groups;
                let rows = height.min(channels.target - i);
                let [by_group, by_row, _] = channels.weight;
                // SAFETY: strips are disjoint parts of the packed weights, and rows are within the weight.
                unsafe {
                    let from = weight.get().add(group * by_group + i * by_row);
                    let at = plan.packed + (group * channels.target + i) * plan.reads.len();
                    pack_strip(from, by_row, rows, &plan.weights, to.get().add(at));
                }
            }
        });
        Ok(packed)
    }
}

/// Whether there are too few target channels for packing to pay.
pub(super) fn is_direct(spec: &Spec) -> bool {
    spec.channels.target <= DIRECT_ROWS
}

/// Target channels of a task: a multiple of `height`, so that there are about `parts` tasks.
fn rows_of_task(channels: usize, height: usize, parts: usize) -> usize {
    channels.div_ceil(parts.max(1)).next_multiple_of(height).max(height)
}

/// Packs some rows of the weights.
///
/// # Safety
/// `from` is valid for `rows`, `row` apart, at every offset; `to` for as many elements.
unsafe fn pack_strip<E: Element>(from: *const E, row: usize, rows: usize, offsets: &[usize], to: *mut E::Compute) {
    // SAFETY: `q` is below the number of offsets and `i` below `rows`: `from` is valid at each offset, `to` for `rows` elements of each.
    unsafe {
        if offsets.iter().enumerate().all(|(i, &at)| i == at) {
            return pack::<E>(Matrix { at: from, row: 1, column: row }, offsets.len(), rows, to, rows);
        }
        for (q, &at) in offsets.iter().enumerate() {
            for i in 0..rows {
                *to.add(q * rows + i) = Operand::widen(*from.add(i * row + at));
            }
        }
    }
}

impl<E: Element> HostKernel for Correlation<E> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let packed = self.pack_weights(inputs[1].cast())?;
        let tensors = Tensors {
            source: Shared(inputs[0].cast::<E>()),
            weight: Shared(inputs[1].cast::<E>()),
            bias: Shared(if self.spec.bias { inputs[2].cast::<E>() } else { std::ptr::null() }),
            target: Shared(outputs[0].cast::<E>()),
            packed: Shared(packed.as_ptr().cast_const().cast::<E::Compute>()),
        };
        let grain = if self.spec.work < MIN_SHARED_WORK { self.tasks } else { self.tasks.div_ceil(8 * num_threads()) };
        try_parallel_for(self.tasks, grain, |range| {
            // SAFETY: the entry is for this CPU; tasks write disjoint parts of the target.
            unsafe { (self.entry)(self, (tensors, range)) }
        })
    }

    fn cost(&self) -> u64 {
        200 + (self.spec.work / 32) as u64
    }
}

/// The addresses of one run.
pub(super) struct Tensors<E: Element> {
    pub source: Shared<*const E>,
    pub weight: Shared<*const E>,
    /// Null if there is none.
    pub bias: Shared<*const E>,
    pub target: Shared<*mut E>,
    pub packed: Shared<*const E::Compute>,
}

impl<E: Element> Clone for Tensors<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Element> Copy for Tensors<E> {}
