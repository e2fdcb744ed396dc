//! Blocks of a chain: how large they are, where their tensors lie, and their kernels.

use std::collections::HashMap;
use std::sync::Arc;

use opforge_cpu::program::{Loop, Operand, Place, Program, Step};
use opforge_runtime::HostKernel;
use smallvec::SmallVec;

use super::axes::{Class, Dims};
use super::chain::{Access, Chain, Fused, Link};
use crate::{Layout, Meta, Result, Shape};

/// What a block's tensors should take together, in bytes: it stays in the second level of cache, and each kernel has some microseconds' work.
const TARGET: usize = 192 << 10;
/// What they may take at most.
pub(super) const LARGEST: usize = 1 << 20;
/// Tensors in working memory begin at multiples of this.
const ALIGNMENT: usize = 64;

/// The length of a block along each loop: those of the outer ones are 1.
struct Sizes<'a> {
    chain: &'a Chain<'a>,
    of: HashMap<Class, usize>,
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
    let mut sizes = Sizes { chain, of: chain.loops.iter().map(|&class| (class, 1)).collect() };
    for &class in chain.loops.iter().rev() {
        let (least, len) = (sizes.bytes(), chain.axes.len(class));
        sizes.of.insert(class, len);
        if sizes.bytes() <= TARGET {
            continue;
        }
        let size = (TARGET / least).clamp(1, len);
        // Whole vectors, and whole cache lines in memory.
        sizes.of.insert(class, if size > 2 * ALIGNMENT { size / ALIGNMENT * ALIGNMENT } else { size });
        break;
    }
    sizes
}

/// Where the tensors of a program lie.
struct Places<'a> {
    wanted: &'a dyn Fn(usize) -> bool,
    inputs: Vec<Access>,
    outputs: Vec<Access>,
    locals: HashMap<usize, Local>,
    local_bytes: usize,
}

/// A storage that only passes between calls: its place in working memory, and the strides of the axes there.
struct Local {
    offset: usize,
    strides: Vec<(Class, usize)>,
}

/// The kernel of a chain.
pub(super) fn fuse(chain: &Chain<'_>, wanted: &dyn Fn(usize) -> bool) -> Result<Fused> {
    let sizes = choose(chain);
    let cut = |class: &Class| (chain.axes.len(*class), sizes.of(*class));
    let loops: SmallVec<[Loop; 4]> = chain
        .loops
        .iter()
        .map(cut)
        .map(|(len, size)| Loop { blocks: len.div_ceil(size), ragged: !len.is_multiple_of(size) })
        .collect();
    let last =
        chain.loops.iter().find(|class| !chain.axes.len(**class).is_multiple_of(sizes.of(**class))).map(|class| {
            let mut of = sizes.of.clone();
            of.insert(*class, chain.axes.len(*class) % sizes.of(*class));
            Sizes { chain, of }
        });
    let mut places = Places { wanted, inputs: vec![], outputs: vec![], locals: HashMap::new(), local_bytes: 0 };
    // What is written is told from what is only read by all calls together.
    let writes = |link: &Link<'_>| link.accesses[link.part.inputs.len()..].to_vec();
    for access in chain.links.iter().flat_map(writes) {
        if wanted(access.storage) && !places.outputs.contains(&access) {
            places.outputs.push(access);
        }
    }
    let steps = chain.links.iter().map(|link| step(chain, link, &sizes, last.as_ref(), &mut places));
    let steps = steps.collect::<Result<Vec<Step>>>()?;
    let kernel = Arc::new(Program::new(steps, loops, places.local_bytes)?);
    Ok(Fused { kernel, inputs: places.inputs, outputs: places.outputs })
}

fn step(
    chain: &Chain<'_>,
    link: &Link<'_>,
    sizes: &Sizes<'_>,
    last: Option<&Sizes<'_>>,
    places: &mut Places<'_>,
) -> Result<Step> {
    let count = link.part.inputs.len();
    let mut operands = SmallVec::<[Operand; 4]>::new();
    for (i, ((&access, meta), dims)) in link.accesses.iter().zip(link.part.metas()).zip(&link.dims).enumerate() {
        let place = places.of(access, meta, dims, i >= count, sizes);
        let steps = chain.loops.iter().map(|class| match place {
            Place::Local(_) => 0,
            _ => (stride(chain, meta, dims, *class) * sizes.of(*class) * meta.dtype.size_in_bytes()) as isize,
        });
        operands.push(Operand { place, steps: steps.collect() });
    }
    let whole = kernel(link, sizes, places)?;
    let last = last.map(|sizes| kernel(link, sizes, places)).transpose()?;
    let outputs = operands.drain(count..).collect();
    Ok(Step { kernels: (whole, last), inputs: operands.into_iter().collect(), outputs })
}

/// How far a tensor moves along an axis, in elements.
fn stride(chain: &Chain<'_>, meta: &Meta, dims: &Dims, class: Class) -> usize {
    let own = dims.iter().position(|&own| chain.axes.root(own) == class);
    own.map_or(0, |d| meta.layout.stride()[d])
}

/// The kernel of a call for blocks of these sizes.
fn kernel(link: &Link<'_>, sizes: &Sizes<'_>, places: &Places<'_>) -> Result<Arc<dyn HostKernel>> {
    let metas = link.accesses.iter().zip(link.part.metas()).zip(&link.dims);
    let blocks = metas.map(|((access, meta), dims)| block(meta, dims, sizes, places.locals.get(&access.storage)));
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
        let inner = self.strides.iter().rev().take_while(|(own, _)| *own != class);
        inner.map(|(own, _)| sizes.of(*own)).product()
    }
}

impl Places<'_> {
    fn of(&mut self, access: Access, meta: &Meta, dims: &Dims, written: bool, sizes: &Sizes<'_>) -> Place {
        if let Some(i) = self.outputs.iter().position(|known| *known == access) {
            return Place::Output(i);
        }
        if let Some(local) = self.locals.get(&access.storage) {
            return Place::Local(local.offset);
        }
        if written && !(self.wanted)(access.storage) {
            let strides = dims.iter().map(|&class| (sizes.chain.axes.root(class), 0)).collect();
            let bytes = sizes.dims(dims).elem_count() * meta.dtype.size_in_bytes();
            let offset = self.local_bytes;
            self.local_bytes += bytes.next_multiple_of(ALIGNMENT);
            self.locals.insert(access.storage, Local { offset, strides });
            return Place::Local(offset);
        }
        let known = self.inputs.iter().position(|known| *known == access);
        Place::Input(known.unwrap_or_else(|| {
            self.inputs.push(access);
            self.inputs.len() - 1
        }))
    }
}
