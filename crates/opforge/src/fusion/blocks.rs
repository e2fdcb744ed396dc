//! Blocks of a chain: how large they are, where their tensors lie, and their kernels.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use opforge_cpu::program::{Loop, Operand, Place, Program, Step, Total};
use opforge_cpu::reduce::ReduceKernel;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::num_threads;
use smallvec::{SmallVec, smallvec};

use super::axes::{Class, Dims};
use super::chain::{Access, Chain, Fused, Link};
use super::known;
use super::part::Part;
use crate::operator::Lowering;
use crate::{Error, Layout, Meta, Result, Shape};

/// What a block's tensors should take together, in bytes: they stay in the second level of cache, and each kernel has some microseconds' work.
const TARGET: RangeInclusive<usize> = 128 << 10..=512 << 10;
/// Blocks that each thread should have, if they need not be smaller than that.
const SHARE: usize = 4;
/// What a block's tensors may take at most.
pub(super) const LARGEST: usize = 1 << 20;
/// Tensors in working memory begin at multiples of this.
const ALIGNMENT: usize = 64;

/// The length of a block along each loop: those of the outer ones are 1.
pub(super) struct Sizes<'a> {
    pub chain: &'a Chain<'a>,
    pub of: HashMap<Class, usize>,
}

impl Sizes<'_> {
    fn of(&self, class: Class) -> usize {
        let root = self.chain.axes.root(class);
        self.of.get(&root).copied().unwrap_or_else(|| self.chain.axes.len(root))
    }

    fn dims(&self, dims: &Dims) -> Shape {
        dims.iter().map(|&class| self.of(class)).collect()
    }

    /// The bytes of all tensors of a block, each storage counted once.
    fn bytes(&self) -> usize {
        let mut largest = HashMap::<usize, usize>::new();
        for (access, meta, dims) in tensors(self.chain) {
            let distinct = dims.iter().zip(meta.layout.stride()).filter(|(_, stride)| **stride != 0);
            let elements: usize = distinct.map(|(&class, _)| self.of(class)).product();
            let bytes = elements.saturating_mul(meta.dtype.size_in_bytes());
            let known = largest.entry(access.storage).or_default();
            *known = bytes.max(*known);
        }
        largest.values().sum()
    }
}

/// All tensors of all calls.
fn tensors<'a>(chain: &'a Chain<'a>) -> impl Iterator<Item = (Access, &'a Meta, &'a Dims)> {
    let of = |link: &'a Link<'a>| link.accesses.iter().zip(link.part.metas()).zip(&link.dims);
    chain.links.iter().flat_map(of).map(|((&access, meta), dims)| (access, meta, dims))
}

/// The bytes of the smallest blocks.
pub(super) fn least_bytes(chain: &Chain<'_>) -> usize {
    Sizes { chain, of: chain.loops.iter().map(|&class| (class, 1)).collect() }.bytes()
}

/// Blocks that reach as far along the innermost loops as the cache allows.
fn choose<'a>(chain: &'a Chain<'a>) -> Sizes<'a> {
    let lengths = |of: &dyn Fn(Class) -> usize| chain.loops.iter().map(|&class| (class, of(class))).collect();
    let whole = Sizes { chain, of: lengths(&|class| chain.axes.len(class)) }.bytes();
    let target = (whole / (SHARE * num_threads())).clamp(*TARGET.start(), *TARGET.end());
    let mut sizes = Sizes { chain, of: lengths(&|_| 1) };
    for &class in chain.loops.iter().rev() {
        let (least, len) = (sizes.bytes(), chain.axes.len(class));
        sizes.of.insert(class, len);
        if sizes.bytes() <= target {
            continue;
        }
        let size = (target / least).clamp(1, len);
        // Whole vectors, and whole cache lines in memory.
        sizes.of.insert(class, if size > 2 * ALIGNMENT { size / ALIGNMENT * ALIGNMENT } else { size });
        break;
    }
    sizes
}

/// Where the tensors of a program lie.
pub(super) struct Places<'a> {
    wanted: &'a dyn Fn(usize) -> bool,
    pub inputs: Vec<Access>,
    pub outputs: Vec<Access>,
    /// What lies in another tensor's place, an output's.
    pub stand_in: Option<(Access, Place)>,
    locals: HashMap<usize, Local>,
    pub local_bytes: usize,
    /// The number of the last call that reads or writes each storage: also one that writes what nobody reads needs its place.
    last_use: HashMap<usize, usize>,
}

/// A storage that only passes between calls: its place in working memory, and the strides of the axes there.
struct Local {
    offset: usize,
    bytes: usize,
    axes: Vec<Class>,
}

/// The kernel of a chain.
pub(super) fn fuse(chain: &Chain<'_>, wanted: &dyn Fn(usize) -> bool) -> Result<Fused> {
    let Some(total) = &chain.total else { return assemble(chain, &choose(chain), None, wanted) };
    let op = total.part.op.name();
    let (input, output) = (&total.part.inputs[0], &total.part.outputs[0]);
    let apart = || Error::value(op, "calls", "others", "calls of single elements, before a reduction of all");
    let Lowering::Reduce(reduce) = total.part.op.lower(&[input], &[output])? else { return Err(apart()) };
    let kernel = reduce.kernel(op, input, output)?;
    let elements = kernel.parts().ok_or_else(apart)?.elements;
    let parts = chain.links.iter().map(|link| link.part.flattened(input.elem_count()));
    let parts = parts.collect::<Option<Vec<Part>>>().ok_or_else(apart)?;
    if let Some(known) = known::fuse(chain, wanted) {
        return Ok(known);
    }
    let flat = Chain::with_parts(&chain.links, &parts).map_err(|_| apart())?;
    let sizes = Sizes { chain: &flat, of: flat.loops.iter().map(|&class| (class, elements)).collect() };
    assemble(&flat, &sizes, Some((total, kernel)), wanted)
}

/// The kernel for blocks of these sizes, perhaps with a reduction of all elements.
fn assemble(
    chain: &Chain<'_>,
    sizes: &Sizes<'_>,
    total: Option<(&Link<'_>, Arc<ReduceKernel>)>,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<Fused> {
    let cut = |class: &Class| (chain.axes.len(*class), sizes.of(*class));
    let blocks = |(len, size): (usize, usize)| Loop { blocks: len.div_ceil(size), ragged: !len.is_multiple_of(size) };
    let loops: SmallVec<[Loop; 4]> = chain.loops.iter().map(cut).map(blocks).collect();
    let ragged = chain.loops.iter().zip(&loops).find(|(_, l)| l.ragged);
    let mut all = vec![Sizes { chain, of: sizes.of.clone() }];
    all.extend(ragged.map(|(class, _)| {
        let mut of = sizes.of.clone();
        of.insert(*class, chain.axes.len(*class) % sizes.of(*class));
        Sizes { chain, of }
    }));
    let mut places = Places::new(chain, total.as_ref().map(|(link, _)| link.accesses[0]), wanted);
    let steps = steps(chain, &all, sizes, &mut places)?;
    let total = total.map(|(link, kernel)| {
        let place = places.known(link.accesses[0])?;
        places.outputs.push(link.accesses[1]);
        let bytes = link.part.inputs[0].dtype.size_in_bytes();
        let step = if matches!(place, Place::Local(_)) { 0 } else { sizes.of(chain.loops[0]) * bytes };
        let input = Operand { place, steps: smallvec![step as isize] };
        Some(Total { kernel, input, output: places.outputs.len() - 1 })
    });
    let kernel = Arc::new(Program::new(steps, total.flatten(), loops, places.local_bytes)?);
    Ok(Fused { kernel, inputs: places.inputs, outputs: places.outputs })
}

/// The calls, with kernels for blocks of each of these sizes, the largest first. A step along a loop is of as many elements as `steps` says.
pub(super) fn steps(
    chain: &Chain<'_>,
    sizes: &[Sizes<'_>],
    steps: &Sizes<'_>,
    places: &mut Places<'_>,
) -> Result<Vec<Step>> {
    chain.links.iter().enumerate().map(|link| step(chain, link, (sizes, steps), places)).collect()
}

fn step(
    chain: &Chain<'_>,
    (number, link): (usize, &Link<'_>),
    (sizes, steps): (&[Sizes<'_>], &Sizes<'_>),
    places: &mut Places<'_>,
) -> Result<Step> {
    let count = link.part.inputs.len();
    let mut operands = SmallVec::<[Operand; 4]>::new();
    for (i, ((&access, meta), dims)) in link.accesses.iter().zip(link.part.metas()).zip(&link.dims).enumerate() {
        let place = places.of(access, (meta, dims), (i >= count).then_some((number, link)), &sizes[0]);
        let steps = chain.loops.iter().map(|class| match place {
            Place::Local(_) => 0,
            _ => (stride(chain, meta, dims, *class) * steps.of(*class) * meta.dtype.size_in_bytes()) as isize,
        });
        operands.push(Operand { place, steps: steps.collect() });
    }
    let kernels = sizes.iter().map(|sizes| kernel(link, &operands, sizes, places)).collect::<Result<_>>()?;
    let outputs = operands.drain(count..).collect();
    Ok(Step { kernels, inputs: operands.into_iter().collect(), outputs })
}

/// How far a tensor moves along an axis, in elements.
fn stride(chain: &Chain<'_>, meta: &Meta, dims: &Dims, class: Class) -> usize {
    let own = dims.iter().position(|&own| chain.axes.root(own) == class);
    own.map_or(0, |d| meta.layout.stride()[d])
}

/// The kernel of a call for blocks of these sizes; its operands are the inputs, then the outputs.
fn kernel(
    link: &Link<'_>,
    operands: &[Operand],
    sizes: &Sizes<'_>,
    places: &Places<'_>,
) -> Result<Arc<dyn HostKernel>> {
    let metas = link.accesses.iter().zip(link.part.metas()).zip(&link.dims).zip(operands);
    let blocks = metas.map(|(((access, meta), dims), operand)| {
        // What the call writes may lie in working memory, and what it reads of the same storage still in its own.
        let is_local = matches!(operand.place, Place::Local(_));
        block(meta, dims, sizes, places.locals.get(&access.storage).filter(|_| is_local))
    });
    let blocks = blocks.collect::<Result<Vec<Meta>>>()?;
    let blocks: Vec<&Meta> = blocks.iter().collect();
    let (inputs, outputs) = blocks.split_at(link.part.inputs.len());
    link.part.op.lower(inputs, outputs)?.kernel(link.part.op.name(), inputs, outputs)
}

/// The meta of a tensor's part that is in a block.
fn block(meta: &Meta, dims: &Dims, sizes: &Sizes<'_>, local: Option<&Local>) -> Result<Meta> {
    let shape = sizes.dims(dims);
    let of = |(d, (&class, &stride)): (usize, (&Class, &usize))| match local {
        // A row-major tensor; where it is repeated, it stays so.
        Some(local) if stride != 0 || meta.dims()[d] == 1 => local.stride(sizes.chain.axes.root(class), sizes),
        _ => stride,
    };
    let strides = dims.iter().zip(meta.layout.stride()).enumerate().map(of).collect();
    Ok(Meta { dtype: meta.dtype, layout: Layout::new(shape, strides, 0, "program")? })
}

impl Local {
    /// The stride of an axis in a row-major tensor of these sizes.
    fn stride(&self, class: Class, sizes: &Sizes<'_>) -> usize {
        self.axes.iter().rev().take_while(|own| **own != class).map(|own| sizes.of(*own)).product()
    }
}

impl<'a> Places<'a> {
    /// Places for the calls of a chain and for what is read after them. What is written is told from what is only read by all calls together.
    pub fn new(chain: &Chain<'_>, read_after: Option<Access>, wanted: &'a dyn Fn(usize) -> bool) -> Self {
        let uses = |(number, link): (usize, &Link<'_>)| {
            link.accesses.iter().map(|access| (access.storage, number)).collect::<Vec<_>>()
        };
        let after = read_after.map(|access| (access.storage, chain.links.len()));
        let last_use = chain.links.iter().enumerate().flat_map(uses).chain(after).collect();
        let mut outputs = Vec::new();
        for access in chain.links.iter().flat_map(|link| &link.accesses[link.part.inputs.len()..]) {
            if wanted(access.storage) && !outputs.contains(access) {
                outputs.push(*access);
            }
        }
        let (inputs, locals) = (Vec::new(), HashMap::new());
        Places { wanted, inputs, outputs, stand_in: None, locals, local_bytes: 0, last_use }
    }

    /// Room for what a call writes: where something as large lay that no call uses any more, so that few cache lines are touched; else a new one.
    fn room(&mut self, bytes: usize, number: usize) -> usize {
        let last = |storage: &usize| self.last_use.get(storage).copied().unwrap_or(usize::MAX);
        let free = |offset: usize| {
            let mut there = self.locals.iter().filter(|(_, local)| local.offset == offset);
            there.all(|(storage, local)| local.bytes == bytes && last(storage) < number)
        };
        if let Some(offset) = self.locals.values().map(|local| local.offset).filter(|&offset| free(offset)).min() {
            return offset;
        }
        self.local_bytes += bytes;
        self.local_bytes - bytes
    }

    /// Where something lies that a call writes.
    fn known(&self, access: Access) -> Option<Place> {
        if let Some((_, place)) = self.stand_in.filter(|(own, _)| *own == access) {
            return Some(place);
        }
        let output = self.outputs.iter().position(|known| *known == access).map(Place::Output);
        output.or_else(|| self.locals.get(&access.storage).map(|local| Place::Local(local.offset)))
    }

    /// Where an operand lies that a call may write over, with its only result, of these axes and this size of an element: one that no later
    /// call uses.
    fn overwritten(
        &self,
        (number, link): (usize, &Link<'_>),
        axes: &[Class],
        size: usize,
        sizes: &Sizes<'_>,
    ) -> Option<usize> {
        let reads = || link.accesses[..link.part.inputs.len()].iter().zip(&link.dims).enumerate();
        let is_same = |dims: &Dims| dims.iter().map(|class| sizes.chain.axes.root(*class)).eq(axes.iter().copied());
        let place = |storage: usize| {
            let local = self.locals.get(&storage).filter(|local| local.axes == axes)?;
            let mut own = reads().filter(|(_, (access, _))| access.storage == storage);
            let ends = link.part.outputs.len() == 1 && self.last_use.get(&storage) == Some(&number);
            let is_as_large = |i: usize| link.part.inputs[i].dtype.size_in_bytes() == size;
            let all_same = own.all(|(i, (_, dims))| link.part.op.overwrites(i) && is_same(dims) && is_as_large(i));
            (ends && all_same).then_some(local.offset)
        };
        reads().find_map(|(_, (access, _))| place(access.storage))
    }

    /// Where a tensor lies, of a call that reads it or, if one is given, the call with its number that writes it.
    fn of(
        &mut self,
        access: Access,
        (meta, dims): (&Meta, &Dims),
        writer: Option<(usize, &Link<'_>)>,
        sizes: &Sizes<'_>,
    ) -> Place {
        if let Some(place) = self.known(access) {
            return place;
        }
        if let Some(writer) = writer.filter(|_| !(self.wanted)(access.storage)) {
            let axes: Vec<Class> = dims.iter().map(|&class| sizes.chain.axes.root(class)).collect();
            let bytes = (sizes.dims(dims).elem_count() * meta.dtype.size_in_bytes()).next_multiple_of(ALIGNMENT);
            let own = self.overwritten(writer, &axes, meta.dtype.size_in_bytes(), sizes);
            let offset = own.unwrap_or_else(|| self.room(bytes, writer.0));
            self.locals.insert(access.storage, Local { offset, bytes, axes });
            return Place::Local(offset);
        }
        Place::Input(self.input(access))
    }

    /// The number of an input.
    pub fn input(&mut self, access: Access) -> usize {
        let known = self.inputs.iter().position(|known| *known == access);
        known.unwrap_or_else(|| {
            self.inputs.push(access);
            self.inputs.len() - 1
        })
    }
}
