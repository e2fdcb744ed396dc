//! Where along an axis the greatest or least element stands.

use super::gather::gather;
use super::plan::{check_output, split};
use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations, order_and_merge};
use crate::loops::work::{GRAIN, grain, look_again, look_at};
use crate::simd::{Entry, Int, Integer, Isa, Routine, Simd, resolve};
use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;
use opforge_tile::forms::Extreme;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

/// Finds the first extreme element along `axis`; NaN is more extreme than any number. The output is I64 or U32 and otherwise as
/// [`super::reduce`] says.
///
/// # Errors
/// Complex inputs, an axis out of range, of length 0 or too long for the output, an output of another size or dtype.
pub fn arg_reduce(
    op: &'static str,
    extreme: Extreme,
    input: &Meta,
    axis: usize,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let (kept, reduced) = split(op, input, &[axis])?;
    check_output(op, output, &kept)?;
    super::expect_output(op, output.dtype, &[DType::I64, DType::U32])?;
    let len = reduced[0].len;
    if len == 0 && output.elem_count() > 0 || (output.dtype == DType::U32 && len > u32::MAX as usize) {
        return Err(Error::shape(op, "input", format!("{:?} along {axis}", input.shape()), "1 to 2^32 - 1 elements"));
    }
    let plan = ArgPlan::new(kept, len, reduced[0].stride[0], extreme, output.dtype == DType::I64);
    Ok(match input.dtype {
        DType::F16 => prepare::<f16>(plan),
        DType::BF16 => prepare::<bf16>(plan),
        DType::F32 => prepare::<f32>(plan),
        DType::F64 => prepare::<f64>(plan),
        DType::Bool => prepare::<Truth>(plan),
        DType::U8 => prepare::<u8>(plan),
        DType::U16 => prepare::<u16>(plan),
        DType::U32 => prepare::<u32>(plan),
        DType::U64 => prepare::<u64>(plan),
        DType::I8 => prepare::<i8>(plan),
        DType::I16 => prepare::<i16>(plan),
        DType::I32 => prepare::<i32>(plan),
        DType::I64 => prepare::<i64>(plan),
        DType::F8E4M3 | DType::F8E5M2 | DType::C64 | DType::C128 => {
            return Err(Error::UnsupportedDTypeForOp(input.dtype, op));
        }
    })
}

/// An element that can be compared as an integer.
trait ArgElem: Copy + Send + Sync + 'static {
    type Key: Integer;
    /// An integer that is the greater the more the element is what is sought: `flip` is 0 for the greatest, -1 for the least.
    fn key(self, flip: Self::Key) -> Self::Key;
}

/// The byte of a truth value, which is true unless it is 0.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

impl ArgElem for Truth {
    type Key = u8;
    #[inline(always)]
    fn key(self, flip: u8) -> u8 {
        u8::from(self.0 != 0) ^ flip
    }
}

macro_rules! int_keys {
    ($($ty:ty),*) => {
        $(impl ArgElem for $ty {
            type Key = $ty;
            #[inline(always)]
            fn key(self, flip: $ty) -> $ty { self ^ flip }
        })*
    };
}
int_keys!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! float_keys {
    ($($ty:ty => $key:ty),*) => {
        $(impl ArgElem for $ty {
            type Key = $key;
            #[inline(always)]
            fn key(self, flip: $key) -> $key {
                let bits = self.to_bits() as $key;
                let magnitude = bits & <$key>::MAX;
                let ordered = if bits < 0 { -magnitude } else { magnitude };
                if magnitude > <$ty>::INFINITY.to_bits() as $key { <$key>::MAX } else { ordered ^ flip }
            }
        })*
    };
}
float_keys!(f16 => i16, bf16 => i16, f32 => i32, f64 => i64);

/// Columns searched side by side.
const TILE: usize = 256;
/// Elements compared side by side.
const LANES: usize = 32;
/// Up to this length, rows that lie one after another are searched side by side, as columns.
const SHORT_ROW: usize = 32;
/// Elements of a row between looks at which lane leads.
const BLOCK: usize = 1024;
/// Pieces that a long row is searched in.
const PIECES: usize = 64;

struct ArgPlan {
    outer: LoopDims<2>,
    len: usize,
    stride: usize,
    /// The dimension of rows that are searched side by side, with its strides in the input and the output; of length 0 where outputs are found one by
    /// one.
    columns: LoopDim<2>,
    /// Elements of each column that are searched side by side too, where columns are few and lie without gaps; else 1.
    together: usize,
    flip: i64,
    wide_output: bool,
}

impl ArgPlan {
    fn new(mut outer: LoopDims<2>, len: usize, stride: usize, extreme: Extreme, wide_output: bool) -> Self {
        if outer.iter().all(|d| d.len > 0) {
            order_and_merge(&mut outer);
        }
        let is_short = stride == 1 && len <= SHORT_ROW;
        let last = outer.last().copied().filter(|d| d.len >= 8 && (is_short || (1..stride).contains(&d.stride[0])));
        // Columns count in u32.
        let columns = last.filter(|_| len <= u32::MAX as usize).unwrap_or(LoopDim { len: 0, stride: [0, 0] });
        if columns.len > 0 {
            outer.pop();
        }
        let is_dense = columns.len > 0 && columns.stride[0] == 1 && stride == columns.len;
        let together = if is_dense { (TILE / columns.len).min(len).max(1) } else { 1 };
        let flip = if extreme == Extreme::Min { -1 } else { 0 };
        ArgPlan { outer, len, stride, columns, together, flip, wide_output }
    }

    fn tiles(&self) -> usize {
        if self.columns.len > 0 { self.columns.len.div_ceil(TILE) } else { 1 }
    }

    /// # Safety
    /// `output` is the kernel's output, of which `at` is an element.
    #[inline(always)]
    unsafe fn write(&self, output: *mut u8, at: usize, index: usize) {
        // SAFETY: `at` is an element of the output, i64 if it is wide, else u32, which holds any index of the plan's rows.
        unsafe {
            if self.wide_output {
                output.cast::<i64>().add(at).write(index as i64);
            } else {
                output.cast::<u32>().add(at).write(index as u32);
            }
        }
    }
}

/// The search: a task is an output, or a tile of columns.
struct ArgSearch<T> {
    plan: ArgPlan,
    element: PhantomData<T>,
}

/// The addresses of input and output.
#[derive(Clone, Copy)]
struct Tensors(*const u8, *mut u8);
// SAFETY: threads only read the input, and write outputs of their own.
unsafe impl Sync for Tensors {}

impl<T: ArgElem> Routine for ArgSearch<T> {
    type Args = (Tensors, Range<usize>);
    type Output = ();
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, tasks): Self::Args) {
        let plan = &self.plan;
        let tiles = plan.tiles();
        for task in tasks {
            let [from, to] = Walk::new(&plan.outer, task / tiles).offset();
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for.
            unsafe {
                let base = tensors.0.cast::<T>().add(from);
                if plan.together > 1 {
                    self.search_few_columns(base, tensors.1, to);
                } else if plan.columns.len > 0 {
                    let first = task % tiles * TILE;
                    let (width, [step, out_step]) = (TILE.min(plan.columns.len - first), plan.columns.stride);
                    self.search_columns(base.add(first * step), width, tensors.1, to + first * out_step);
                } else {
                    plan.write(tensors.1, to, self.search_row(base, 0..plan.len).1);
                }
            }
        }
    }
}

impl<T: ArgElem> ArgSearch<T> {
    /// The greatest key among these positions, and the first that has it.
    ///
    /// # Safety
    /// `base` is valid for reading at these multiples of the stride; there is at least one.
    #[inline(always)]
    unsafe fn search_row(&self, base: *const T, range: Range<usize>) -> (T::Key, usize) {
        let flip = T::Key::from_i64(self.plan.flip);
        let stride = self.plan.stride;
        // SAFETY: keys are asked for positions within the range only, where `base` is readable at the stride.
        let key = |i: usize| unsafe { base.add(i * stride).read() }.key(flip);
        let (mut best, mut best_block) = (key(range.start), range.start);
        let mut gathered = [const { MaybeUninit::<T>::uninit() }; BLOCK];
        for block in range.clone().step_by(BLOCK) {
            look_again(block - range.start);
            let n = BLOCK.min(range.end - block);
            // SAFETY: the block lies within the range, and is gathered before it is read.
            let greatest = unsafe {
                let mut elements = base.add(block * stride);
                if stride != 1 {
                    gather(elements, stride, gathered.as_mut_ptr().cast(), n);
                    elements = gathered.as_ptr().cast();
                }
                greatest_key(std::slice::from_raw_parts(elements, n), flip)
            };
            if greatest > best {
                (best, best_block) = (greatest, block);
            }
        }
        let position = (best_block..range.end).find(|&i| key(i) == best);
        (best, position.unwrap_or(best_block))
    }

    /// # Safety
    /// `base` is valid for reading `width` elements, the columns' stride apart, at every multiple of the stride; `output` is the kernel's, and the
    /// outputs from `to` on are the columns'.
    #[inline(always)]
    unsafe fn search_columns(&self, base: *const T, width: usize, output: *mut u8, to: usize) {
        let plan = &self.plan;
        let mut found = Columns::<T::Key>::new();
        // SAFETY: every row of the plan has these columns; `i` is below `width`, their number, and outputs from `to` on are theirs.
        unsafe {
            self.find(base, width, [plan.len, plan.stride], &mut found);
            for (i, &index) in found.index[..width].iter().enumerate() {
                plan.write(output, to + i * plan.columns.stride[1], index as usize);
            }
        }
    }

    /// As [`search_columns`](ArgSearch::search_columns), of all columns at once: [`ArgPlan::together`] rows are searched as one of so many more columns.
    ///
    /// # Safety
    /// `base` is valid for reading all columns; `output` is the kernel's, and the outputs from `to` on are the columns'.
    #[inline(always)]
    unsafe fn search_few_columns(&self, base: *const T, output: *mut u8, to: usize) {
        let plan = &self.plan;
        let (width, together) = (plan.columns.len, plan.together);
        let (rows, flip) = (plan.len / together, T::Key::from_i64(plan.flip));
        let mut found = Columns::<T::Key>::new();
        // SAFETY: so many rows, each of `together` of the plan's, are readable.
        unsafe { self.find(base, width * together, [rows, width * together], &mut found) };
        for column in 0..width {
            let of = |part: usize| {
                let place = part * width + column;
                (found.best[place], found.index[place] as usize * together + part)
            };
            let first = |a: (T::Key, usize), b: (T::Key, usize)| {
                if b.0 > a.0 || b.0 == a.0 && b.1 < a.1 { b } else { a }
            };
            // SAFETY: the element is one of the column's.
            let rest = (rows * together..plan.len)
                .map(|row| unsafe { (base.add(row * width + column).read().key(flip), row) });
            let (_, index) = (1..together).map(of).chain(rest).fold(of(0), first);
            // SAFETY: outputs from `to` on are the columns'.
            unsafe { plan.write(output, to + column * plan.columns.stride[1], index) };
        }
    }

    /// The greatest key of each of `width` columns, and the first row that has it.
    ///
    /// # Safety
    /// `base` is valid for reading `width` elements, the columns' stride apart, in each of so many rows, which are so far apart.
    #[inline(always)]
    unsafe fn find(&self, base: *const T, width: usize, [rows, stride]: [usize; 2], found: &mut Columns<T::Key>) {
        let step = self.plan.columns.stride[0];
        let flip = T::Key::from_i64(self.plan.flip);
        let Columns { best, index } = found;
        let mut gathered = [const { MaybeUninit::<T>::uninit() }; TILE];
        for row in 0..rows {
            look_at(row * TILE);
            // SAFETY: the row lies within the input, and what is gathered of it are `width` elements.
            let elements = unsafe {
                let mut first = base.add(row * stride);
                if step != 1 {
                    gather(first, step, gathered.as_mut_ptr().cast(), width);
                    first = gathered.as_ptr().cast();
                }
                std::slice::from_raw_parts(first, width)
            };
            let leads = best.as_chunks_mut::<LANES>().0.iter_mut().zip(index.as_chunks_mut::<LANES>().0);
            let (chunks, rest) = elements.as_chunks::<LANES>();
            for (chunk, (best, index)) in chunks.iter().zip(leads) {
                keep_greater(chunk, best, index, row as u32, flip);
            }
            let done = width - rest.len();
            for (i, element) in (done..width).zip(rest) {
                let key = element.key(flip);
                if key > best[i] {
                    (best[i], index[i]) = (key, row as u32);
                }
            }
        }
    }
}

/// The greatest keys of columns, and the rows that have them.
struct Columns<K> {
    best: [K; TILE],
    index: [u32; TILE],
}

impl<K: Integer> Columns<K> {
    #[inline(always)]
    fn new() -> Self {
        Columns { best: [K::least(); TILE], index: [0; TILE] }
    }
}

/// Replaces what is less than a row's element, and its index.
#[inline(always)]
fn keep_greater<T: ArgElem>(
    elements: &[T; LANES],
    best: &mut [T::Key; LANES],
    index: &mut [u32; LANES],
    row: u32,
    flip: T::Key,
) {
    // Copies, so that the compiler sees at once that they do not overlap.
    let (old_best, old_index) = (*best, *index);
    for i in 0..LANES {
        let key = elements[i].key(flip);
        best[i] = if key > old_best[i] { key } else { old_best[i] };
        index[i] = if key > old_best[i] { row } else { old_index[i] };
    }
}

/// The greatest of keys.
#[inline(always)]
fn greatest_key<T: ArgElem>(elements: &[T], flip: T::Key) -> T::Key {
    let mut lanes = [T::Key::least(); LANES];
    let (chunks, rest) = elements.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, element) in lanes.iter_mut().zip(chunk) {
            let key = element.key(flip);
            *lane = if key > *lane { key } else { *lane };
        }
    }
    let rest = rest.iter().map(|element| element.key(flip));
    lanes.into_iter().chain(rest).max().unwrap_or(T::Key::least())
}

/// Searching a piece of one row, the only task: its best key and position.
struct ArgPiece<T>(ArgSearch<T>);

impl<T: ArgElem> Routine for ArgPiece<T> {
    type Args = (Tensors, Range<usize>);
    type Output = (T::Key, usize);
    const AVX512: bool = false;

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (tensors, range): Self::Args) -> Self::Output {
        // SAFETY: the input's elements at the range's positions, multiples of the stride, are readable, and the range is not empty.
        unsafe { self.0.search_row(tensors.0.cast::<T>(), range) }
    }
}

struct ArgKernel<T: ArgElem> {
    piece: ArgPiece<T>,
    search_entry: Entry<ArgSearch<T>>,
    piece_entry: Entry<ArgPiece<T>>,
    tasks: usize,
}

fn prepare<T: ArgElem>(plan: ArgPlan) -> Arc<dyn HostKernel> {
    let tasks = iterations(&plan.outer) * plan.tiles();
    Arc::new(ArgKernel::<T> {
        piece: ArgPiece(ArgSearch { plan, element: PhantomData }),
        search_entry: resolve::<ArgSearch<T>>(Isa::current()),
        piece_entry: resolve::<ArgPiece<T>>(Isa::current()),
        tasks,
    })
}

impl<T: ArgElem> ArgKernel<T> {
    /// # Safety
    /// As [`HostKernel::run`] demands.
    unsafe fn run_in_pieces(&self, tensors: Tensors) {
        let plan = &self.piece.0.plan;
        let piece = plan.len.div_ceil(PIECES).max(2 * GRAIN);
        let found = Found(std::cell::UnsafeCell::new([(T::Key::least(), 0); PIECES]));
        parallel_for(plan.len, piece, |range| {
            let slot = range.start / piece;
            // SAFETY: the entry is for the processor's own ISA; a slot is written by one thread.
            unsafe {
                let result = (self.piece_entry)(&self.piece, (tensors, range));
                found.slot(slot).write(result);
            }
        });
        let found = found.0.into_inner();
        let pieces = plan.len.div_ceil(piece);
        let first_best = found[..pieces].iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
        // SAFETY: the output has one element.
        unsafe { plan.write(tensors.1, 0, first_best.map_or(0, |(_, index)| index)) };
    }
}

/// What the pieces found.
struct Found<K>(std::cell::UnsafeCell<[(K, usize); PIECES]>);
// SAFETY: threads write different slots.
unsafe impl<K: Send> Sync for Found<K> {}
impl<K> Found<K> {
    fn slot(&self, i: usize) -> *mut (K, usize) {
        self.0.get().cast::<(K, usize)>().wrapping_add(i)
    }
}

impl<T: ArgElem> HostKernel for ArgKernel<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let tensors = Tensors(inputs[0], outputs[0]);
        let search = &self.piece.0;
        let task_work = search.plan.len * if search.plan.columns.len > 0 { TILE } else { 1 };
        if self.tasks == 1 && search.plan.columns.len == 0 && search.plan.len > 4 * GRAIN {
            // SAFETY: the tensors are those of this call, the only task is one row, and the output one element.
            unsafe { self.run_in_pieces(tensors) };
        } else {
            let grain = grain(task_work / 2);
            // SAFETY: the tasks are the plan's, each with outputs of its own; the entry is for the processor's own ISA.
            parallel_for(self.tasks, grain, |tasks| unsafe { (self.search_entry)(search, (tensors, tasks)) });
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        let plan = &self.piece.0.plan;
        (iterations(&plan.outer) * plan.columns.len.max(1) * plan.len / 5) as u64
    }
}
