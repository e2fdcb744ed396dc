//! Convolutions and transposed convolutions as blocked products: packed weights times panels gathered from the source.

use std::ops::Range;

use opforge_core::Result;
use opforge_runtime::Then;
use opforge_runtime::parallel::num_threads;

use super::Element;
use super::MAX_SPATIAL;
use super::geometry::{Lengths, Sizes};
use super::panel::{SLACK, panels_len};
use super::phase::{Phase, counts};
use super::piece::Targets;
use super::product::{COLUMNS, DEPTH, PRODUCTS, Total, block_depth};
use super::slab::{Blocks, Read};
use crate::copy::Shared;
use crate::loops::fallible::try_parallel_for;
use crate::matmul::operand::Operand;
use crate::matmul::{Kernels, Packing};
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

/// A system of sums, planned.
pub(super) struct System {
    pub phase: Phase,
    pub reads: Vec<Read>,
    /// Where each target position's row of `reads` finds its weight, from the row's first.
    pub weights: Vec<usize>,
    /// Elements of packed weights before this system's.
    pub packed: usize,
}

/// How a slab is multiplied as it is: for sums that stay where they are made, and lines of targets that fill registers well.
pub(super) struct InPlace {
    /// Where each read is.
    pub offsets: Vec<usize>,
    /// Whether a plane's lines are one, with what the slab has between them.
    pub joined: bool,
}

impl InPlace {
    /// Fewer reads are not worth what joined lines take to be divided again.
    const READS: usize = 64;
    /// Panels take as long to pack as products of so many rows with them.
    const PACKING: usize = 20;

    /// For tasks of so many rows, where what registers compute beside the targets takes no longer than it would to pack panels.
    fn new(system: &System, blocks: &Blocks, lanes: usize, task: usize) -> Option<InPlace> {
        let [_, rows, line] = blocks.targets_of(0, counts(&system.phase));
        let lanes_of = |len: usize| len.next_multiple_of(lanes);
        let apart = rows * lanes_of(line);
        let together = lanes_of((rows - 1) * blocks.steps()[1] + line);
        let joined = blocks.step[1] == 1 && system.reads.len() >= InPlace::READS && 20 * together <= 19 * apart;
        let fills = task * if joined { together } else { apart } <= (task + InPlace::PACKING) * rows * line;
        fills.then(|| InPlace { offsets: system.reads.iter().map(|r| r.at).collect(), joined })
    }
}

pub(super) struct Correlation<E: Element> {
    pub spec: Spec,
    pub blocks: Blocks,
    /// In the order of their first targets. So many together fill lines, in which their targets alternate.
    pub systems: Vec<System>,
    pub alternating: usize,
    /// Whether the targets are all of the target's positions, in order; and sums are made where they stay, as they are not rounded.
    pub whole: bool,
    pub in_place: bool,
    /// Whether there is so much to sum that sums enter totals.
    pub in_totals: bool,
    /// If the slab is multiplied as it is, without panels.
    pub slab: Option<InPlace>,
    /// Images, and target channels, of a task.
    pub images: usize,
    pub rows: usize,
    tasks: usize,
    /// Elements of all packed weights, and of a task's working memory.
    pub packed: usize,
    pub room: usize,
    pub kernels: Kernels<E::Compute>,
    pub packing: Packing<E>,
    entry: Entry<Self>,
}

impl<E: Element> Correlation<E> {
    pub fn new(spec: Spec, phases: Vec<Phase>) -> Result<Self> {
        let ((kernels, packing), channels) = (E::for_products(), spec.channels);
        let threads = if spec.work < MIN_SHARED_WORK { 1 } else { num_threads() };
        let least = if threads == 1 { 1 } else { (4 * threads).div_ceil((spec.batch * channels.groups).max(1)) };
        let blocks = Blocks::new(spec.op, &phases, [channels.source, least], spec.source, E::EXACT, false)?;
        let (systems, packed) = systems(&spec, &blocks, phases, &packing)?;
        let firsts = |system: &System| [0, 1].map(|d: usize| system.phase[d].first);
        let alternating = systems.iter().take_while(|system| firsts(system) == firsts(&systems[0])).count();
        let rows_of = |tasks: usize| rows_of_task(channels.target, kernels.rows(), tasks.div_ceil(blocks.count));
        let whole = |phase: &Phase| (0..MAX_SPATIAL).all(|d| phase[d].gap == 1 && phase[d].count == spec.target[d]);
        let whole = systems.len() == 1 && whole(&systems[0].phase);
        let in_totals = systems.iter().any(|system| system.reads.len() > PRODUCTS * DEPTH);
        let in_place = E::EXACT && whole && !in_totals;
        let is_slab = in_place && blocks.is_copied();
        let task = rows_of(least).min(channels.target);
        let slab = is_slab.then(|| InPlace::new(&systems[0], &blocks, kernels.lanes(), task)).flatten();
        // Tasks that compute rows of the same positions pack the same panels.
        let rows = rows_of(if slab.is_some() { least } else { least.div_ceil(2) });
        let alone = is_direct(&spec) || slab.is_some() || blocks.count > 1;
        let images = if alone { 1 } else { images_of_task(&spec, &systems, kernels.lanes(), threads) };
        let parts = blocks.count * channels.target.div_ceil(rows);
        let tasks = if systems.is_empty() { 0 } else { spec.batch.div_ceil(images) * channels.groups * parts };
        let entry = resolve::<Self>(Isa::current());
        let mut correlation = Correlation {
            spec,
            blocks,
            systems,
            alternating,
            whole,
            in_place: in_place && images == 1,
            in_totals,
            slab,
            images,
            rows,
            tasks,
            packed,
            room: 0,
            kernels,
            packing,
            entry,
        };
        correlation.room = correlation.needed();
        Ok(correlation)
    }

    /// The targets of a block of some images: systems that fill lines together.
    pub fn targets(&self, block: usize, images: usize) -> impl Iterator<Item = Targets<'_>> {
        let blocks = &self.blocks;
        self.systems.chunks(self.alternating.max(1)).map(move |systems| Targets { systems, blocks, block, images })
    }

    /// The packed rows of the deepest block of any of the systems; the one with the most reads may have others.
    pub fn deepest(&self, systems: &[System]) -> usize {
        let depths = systems.iter().map(|system| block_depth(&self.packing, system.reads.len()));
        depths.map(|depth| self.packing.rows(depth)).max().unwrap_or(0)
    }

    /// Where the packed weights of a group's target channels from `channel` on begin, for a block of a system's reads from `from` on.
    pub fn weights_at(&self, system: &System, [group, channel]: [usize; 2], from: usize) -> usize {
        let deep = system.reads.len();
        let block = block_depth(&self.packing, deep).min(deep - from);
        let (strips, rows) = (self.packing.strips(self.spec.channels.target), |depth| self.packing.rows(depth));
        system.packed + (group * rows(deep) + rows(from)) * strips + channel * rows(block)
    }

    /// Elements of working memory: the slabs, and panels and sums or a row of weights.
    fn needed(&self) -> usize {
        let slabs = self.images * self.blocks.elements;
        let deep = self.systems.iter().map(|system| system.reads.len()).max().unwrap_or(0);
        if is_direct(&self.spec) {
            return slabs + deep;
        }
        let (mut most, mut all) = (0, 0);
        for targets in self.targets(0, self.images) {
            let first = targets.first();
            most = targets.columns(&first).fold(most, usize::max);
            all = all.max(targets.columns(&first).sum());
        }
        // Totals are aligned by themselves.
        let total = if self.in_totals { size_of::<Total<E::Compute>>() / size_of::<E::Compute>() } else { 0 };
        let sums = if self.in_place { 0 } else { self.rows * (all + most * total) + 2 };
        if self.slab.is_some() {
            return slabs + self.rows * self.kernels.width() + SLACK;
        }
        slabs + panels_len(&self.kernels, self.deepest(&self.systems), most) + sums
    }
}

/// The systems that make anything, and the elements of all their packed weights.
fn systems<E: Operand>(
    spec: &Spec,
    blocks: &Blocks,
    phases: Vec<Phase>,
    packing: &Packing<E>,
) -> Result<(Vec<System>, usize)> {
    let (channels, mut packed) = (&spec.channels, 0);
    let mut systems = Vec::with_capacity(phases.len());
    for phase in phases.into_iter().filter(|phase| phase.iter().all(|line| line.count > 0)) {
        let reads = blocks.reads(&phase, spec.k)?;
        let weights = reads.iter().map(|r| r.channel * channels.weight[2] + r.k).collect();
        let size = channels.groups * packing.strips(channels.target) * packing.rows(reads.len());
        systems.push(System { phase, reads, weights, packed });
        packed += size;
    }
    Ok((systems, packed))
}

/// Whether there are too few target channels for packing to pay.
pub(super) fn is_direct(spec: &Spec) -> bool {
    spec.channels.target <= DIRECT_ROWS
}

/// Target channels of a task: a multiple of `height`, so that there are about `parts` tasks.
fn rows_of_task(channels: usize, height: usize, parts: usize) -> usize {
    channels.div_ceil(parts.max(1)).next_multiple_of(height).max(height)
}

/// Images of a task, whose positions are columns side by side: the fewest that leave few lanes empty, and no thread without work.
fn images_of_task(spec: &Spec, systems: &[System], lanes: usize, threads: usize) -> usize {
    let positions = systems.iter().map(|system| counts(&system.phase).iter().product::<usize>());
    // The vectors that the busiest thread computes for a row.
    let vectors = |images: usize| {
        let tasks = spec.batch.div_ceil(images) * spec.channels.groups;
        tasks.div_ceil(threads) * positions.clone().map(|n| (images * n).div_ceil(lanes)).sum::<usize>()
    };
    let most = (COLUMNS / positions.clone().max().unwrap_or(COLUMNS).max(1)).clamp(1, spec.batch.max(1));
    let least = (1..=most).map(vectors).min().unwrap_or(0);
    (1..=most).find(|&images| 32 * vectors(images) <= 33 * least).unwrap_or(1)
}

impl<E: Element> Correlation<E> {
    /// The positions of a block of the target, whose positions are all of one system.
    pub fn positions(&self, block: usize) -> Range<usize> {
        let (axis, target) = (self.blocks.axis, &self.spec.target);
        let inner: usize = target[axis + 1..].iter().product();
        let [first, end] = [block, block + 1].map(|block| target[axis].min(block * self.blocks.len) * inner);
        first..end
    }

    /// Computes the target, task by task; if something follows, it is done with each rectangle as soon as that is there.
    ///
    /// # Safety
    /// The tensors are valid, and nobody else has the target.
    pub unsafe fn run(&self, tensors: Tensors<E>, then: Option<Then<'_>>) -> Result<()> {
        let grain = if self.spec.work < MIN_SHARED_WORK { self.tasks } else { self.tasks.div_ceil(8 * num_threads()) };
        try_parallel_for(self.tasks, grain, |range| {
            // SAFETY: the entry is for this CPU; tasks write disjoint parts of the target.
            let compute = |tasks| unsafe { (self.entry)(self, (tensors, tasks)) };
            let Some(then) = then else { return compute(range) };
            range.into_iter().try_for_each(|task| {
                compute(task..task + 1)?;
                self.rectangles_of(tensors, task).try_for_each(|(at, size)| then(at, size))
            })
        })
    }

    /// Rows and columns of the rectangles that tasks compute, if all of the target is made of such.
    pub fn rectangles(&self) -> Option<Vec<[usize; 2]>> {
        if !self.whole || self.tasks == 0 {
            return None;
        }
        let (channels, rows) = (self.spec.channels.target, self.rows);
        let rows = [rows.min(channels), channels - (channels - 1) / rows * rows];
        let columns = [0, self.blocks.count - 1].map(|block| self.positions(block).len());
        let distinct = |[first, last]: [usize; 2]| [first, last].into_iter().take(if first == last { 1 } else { 2 });
        Some(distinct(rows).flat_map(|rows| distinct(columns).map(move |columns| [rows, columns])).collect())
    }
}

/// The addresses of one run.
pub(super) struct Tensors<E: Element> {
    pub source: Shared<*const E>,
    pub weight: Shared<*const E>,
    /// Null if there is none.
    pub bias: Shared<*const E>,
    pub target: Shared<*mut E>,
    /// The weight, packed; not read where tasks are direct.
    pub packed: Shared<*const E::Compute>,
}

impl<E: Element> Clone for Tensors<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Element> Copy for Tensors<E> {}
