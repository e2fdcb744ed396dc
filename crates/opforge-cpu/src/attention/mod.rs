//! Attention, `softmax(q k^T scale) v`, by blocks of queries whose scores stay in a cache: no more of the score matrix is ever there.

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Layout, Meta, Result, WithDType};
use opforge_runtime::Kernel;
use opforge_runtime::alloc::Workspace;

use crate::copy::{Plan, Shared};
use crate::fallible::try_parallel_for;
use crate::matmul::matmul;
use crate::norm::{Softmax, softmax, softmax_backward};
use crate::staged::with_contiguous;

/// What is computed of queries `q [.., n, width]`, keys `k [.., m, width]` and values `v [.., m, size]`.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// What scores are multiplied by.
    pub scale: f64,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
}

/// The kernel for `softmax(q k^T scale) v`.
///
/// Inputs are q, k and v, of any strides; the output `[.., n, size]` is contiguous. Leading dimensions are equal.
///
/// # Errors
/// Dtypes other than f32 and f64, shapes that do not go together.
pub fn attention(op: &'static str, how: Attention, inputs: [&Meta; 3], output: &Meta) -> Result<Arc<dyn Kernel>> {
    let sizes = Sizes::new(op, how, inputs, output)?;
    with_contiguous(&inputs, |_| match output.dtype {
        DType::F32 => Forward::<f32>::prepare(op, sizes),
        DType::F64 => Forward::<f64>::prepare(op, sizes),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// The kernel for the gradients of [`attention`] with respect to q, k and v, its outputs, contiguous and like them; the scores are computed
/// again. Inputs are q, k, v and the output's gradient, of any strides.
///
/// # Errors
/// As [`attention`].
pub fn attention_gradients(
    op: &'static str,
    how: Attention,
    [q, k, v, dy]: [&Meta; 4],
    outputs: [&Meta; 3],
) -> Result<Arc<dyn Kernel>> {
    let sizes = Sizes::new(op, how, [q, k, v], &Meta::contiguous(dy.dtype, dy.shape()))?;
    for (output, input) in outputs.into_iter().zip([q, k, v]) {
        if output.dims() != input.dims() || output.dtype != input.dtype || !output.layout.is_contiguous() {
            return Err(Error::shapes(op, output.shape(), input.shape(), "contiguous outputs like the inputs"));
        }
    }
    with_contiguous(&[q, k, v, dy], |_| match dy.dtype {
        DType::F32 => Gradients::<f32>::prepare(op, sizes),
        DType::F64 => Gradients::<f64>::prepare(op, sizes),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    how: Attention,
    dtype: DType,
    heads: usize,
    queries: usize,
    keys: usize,
    width: usize,
    /// Of a value.
    size: usize,
}

/// Neighbouring queries, and the keys that the last of them sees.
#[derive(Debug, Clone, Copy)]
struct Block {
    first: usize,
    rows: usize,
    keys: usize,
}

impl Sizes {
    fn new(op: &'static str, how: Attention, [q, k, v]: [&Meta; 3], output: &Meta) -> Result<Self> {
        let accepted = "q [.., n, width], k [.., m, width], v [.., m, size] and an output [.., n, size], contiguous";
        let ([lead @ .., queries, width], [lead_k @ .., keys, width_k]) = (q.dims(), k.dims()) else {
            return Err(Error::shapes(op, q.shape(), k.shape(), accepted));
        };
        let ([lead_v @ .., keys_v, size], [lead_y @ .., rows, size_y]) = (v.dims(), output.dims()) else {
            return Err(Error::shapes(op, v.shape(), output.shape(), accepted));
        };
        let fits =
            [lead_k, lead_v, lead_y] == [lead; 3] && (width, keys, queries, size) == (width_k, keys_v, rows, size_y);
        if !fits || !output.layout.is_contiguous() {
            return Err(Error::shapes(op, q.shape(), v.shape(), accepted));
        }
        if let Some(other) = [k, v, output].iter().find(|meta| meta.dtype != q.dtype) {
            return Err(Error::dtypes(op, q.dtype, other.dtype));
        }
        let heads = lead.iter().product();
        Ok(Sizes { how, dtype: q.dtype, heads, queries: *queries, keys: *keys, width: *width, size: *size })
    }

    fn blocks(&self) -> Vec<Block> {
        /// Scores of a block, about, and the bounds of its queries.
        const SCORES: usize = 1 << 17;
        let rows = (SCORES / self.keys.max(1)).clamp(16, 128);
        let block = |first: usize| {
            let rows = rows.min(self.queries - first);
            Block { first, rows, keys: if self.how.causal { self.keys.min(first + rows) } else { self.keys } }
        };
        (0..self.queries).step_by(rows).map(block).collect()
    }

    fn matrix(&self, rows: usize, columns: usize) -> Meta {
        Meta::contiguous(self.dtype, (rows, columns))
    }

    /// The plan that turns a contiguous matrix of `rows`, and the first columns of what it makes.
    fn turn(&self, op: &'static str, rows: usize, columns: usize) -> Result<Plan> {
        Ok(Plan::new(&self.transposed(op, rows, columns)?, &self.matrix(columns, rows), &[]))
    }

    /// The first `keys` columns of a turned matrix of all keys.
    fn turned(&self, op: &'static str, columns: usize, keys: usize) -> Result<Meta> {
        let layout = Layout::new((columns, keys).into(), [self.keys, 1].into_iter().collect(), 0, op)?;
        Ok(Meta { dtype: self.dtype, layout })
    }

    /// The transpose of a contiguous matrix.
    fn transposed(&self, op: &'static str, rows: usize, columns: usize) -> Result<Meta> {
        let layout = Layout::new((columns, rows).into(), [1, columns].into_iter().collect(), 0, op)?;
        Ok(Meta { dtype: self.dtype, layout })
    }

    fn cost(&self) -> u64 {
        let scores = self.heads as u64 * self.queries as u64 * self.keys as u64;
        200 + scores * (self.width + self.size) as u64 / 32
    }
}

/// The kernels that make a block's weights.
struct Weights {
    scores: Arc<dyn Kernel>,
    softmax: Arc<dyn Kernel>,
}

impl Weights {
    fn new(op: &'static str, sizes: &Sizes, block: &Block) -> Result<Self> {
        let scores = sizes.matrix(block.rows, block.keys);
        let (q, k) = (sizes.matrix(block.rows, sizes.width), sizes.turned(op, sizes.width, block.keys)?);
        Ok(Weights { scores: matmul(op, &q, &k, &scores)?, softmax: softmax(op, &scores, 1, Softmax::Plain, &scores)? })
    }

    /// Writes the weights of a block, and the scaled queries.
    ///
    /// # Safety
    /// `q` is valid for the block's queries and `k` for all keys, turned; `scaled` and `weights` for what they are called.
    unsafe fn run<T: WithDType>(
        &self,
        sizes: &Sizes,
        block: &Block,
        [q, k]: [*const T; 2],
        [scaled, weights]: [*mut T; 2],
    ) -> Result<()> {
        // SAFETY: by the contract.
        unsafe {
            std::ptr::copy_nonoverlapping(q, scaled, block.rows * sizes.width);
            scale(scaled, block.rows * sizes.width, sizes.how.scale);
            self.scores.run(&[scaled.cast_const().cast(), k.cast()], &[weights.cast()])?;
            if sizes.how.causal {
                for row in 0..block.rows {
                    let seen = block.keys.min(block.first + row + 1);
                    let hidden =
                        std::slice::from_raw_parts_mut(weights.add(row * block.keys + seen), block.keys - seen);
                    hidden.fill(T::from_f64(f64::NEG_INFINITY));
                }
            }
            self.softmax.run(&[weights.cast_const().cast()], &[weights.cast()])
        }
    }
}

/// # Safety
/// Valid for `n` elements.
unsafe fn scale<T: WithDType>(at: *mut T, n: usize, by: f64) {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(at, n) }.iter_mut().for_each(|x| *x *= T::from_f64(by));
}

struct Forward<T> {
    sizes: Sizes,
    blocks: Vec<(Block, Weights, Arc<dyn Kernel>)>,
    turn: Plan,
    /// Tasks that share a head's blocks; each turns the keys for itself.
    parts: usize,
    /// Elements of a task's working memory besides the keys.
    room: usize,
    element: PhantomData<T>,
}

impl<T: WithDType> Forward<T> {
    fn prepare(op: &'static str, sizes: Sizes) -> Result<Arc<dyn Kernel>> {
        let prepared = |block: Block| {
            let (weights, v) = (sizes.matrix(block.rows, block.keys), sizes.matrix(block.keys, sizes.size));
            let product = matmul(op, &weights, &v, &sizes.matrix(block.rows, sizes.size))?;
            Ok((block, Weights::new(op, &sizes, &block)?, product))
        };
        let blocks = sizes.blocks().into_iter().map(prepared).collect::<Result<Vec<_>>>()?;
        let room = blocks.iter().map(|(block, ..)| block.rows * (block.keys + sizes.width)).max().unwrap_or(0);
        /// Tasks at least, where there are as many blocks.
        const TASKS: usize = 16;
        let parts = TASKS.div_ceil(sizes.heads.max(1)).clamp(1, blocks.len().max(1));
        let turn = sizes.turn(op, sizes.keys, sizes.width)?;
        Ok(Arc::new(Forward::<T> { sizes, blocks, turn, parts, room, element: PhantomData }))
    }
}

impl<T: WithDType> Kernel for Forward<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sizes = &self.sizes;
        let [q, k, v] = [0, 1, 2].map(|i| Shared(inputs[i].cast::<T>()));
        let y = Shared(outputs[0].cast::<T>());
        try_parallel_for(sizes.heads * self.parts, 1, |tasks| {
            let room = Workspace::new((self.room + sizes.keys * sizes.width) * size_of::<T>())?;
            for task in tasks {
                let (head, part) = (task / self.parts, task % self.parts);
                let mine = part * self.blocks.len() / self.parts..(part + 1) * self.blocks.len() / self.parts;
                // SAFETY: by the contract; tasks write disjoint rows, and the room is as large as any needs.
                unsafe {
                    let scores = room.as_ptr().cast::<T>();
                    let turned = scores.add(self.room);
                    self.turn.run(k.get().add(head * sizes.keys * sizes.width).cast(), turned.cast());
                    let v = v.get().add(head * sizes.keys * sizes.size);
                    for (block, weights, product) in &self.blocks[mine] {
                        let row = head * sizes.queries + block.first;
                        let scaled = scores.add(block.rows * block.keys);
                        weights.run(sizes, block, [q.get().add(row * sizes.width), turned], [scaled, scores])?;
                        let to = y.get().add(row * sizes.size);
                        product.run(&[scores.cast_const().cast(), v.cast()], &[to.cast()])?;
                    }
                }
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        self.sizes.cost()
    }
}

/// The kernels of a block's gradients.
struct Backward {
    block: Block,
    weights: Weights,
    /// The gradients of weights from those of the output, of scores from those of weights, of queries from those of scores.
    by_weights: Arc<dyn Kernel>,
    by_scores: Arc<dyn Kernel>,
    by_queries: Arc<dyn Kernel>,
    /// The block's share of the gradients of values and of keys.
    by_values: Arc<dyn Kernel>,
    by_keys: Arc<dyn Kernel>,
}

impl Backward {
    fn new(op: &'static str, sizes: &Sizes, block: Block) -> Result<Self> {
        let Block { rows, keys, .. } = block;
        let Sizes { width, size, .. } = *sizes;
        let (scores, turned) = (sizes.matrix(rows, keys), sizes.transposed(op, rows, keys)?);
        let (dy, q) = (sizes.matrix(rows, size), sizes.matrix(rows, width));
        Ok(Backward {
            block,
            weights: Weights::new(op, sizes, &block)?,
            by_weights: matmul(op, &dy, &sizes.turned(op, size, keys)?, &scores)?,
            by_scores: softmax_backward(op, &scores, &scores, 1, Softmax::Plain, &scores)?,
            by_queries: matmul(op, &scores, &sizes.matrix(keys, width), &q)?,
            by_values: matmul(op, &turned, &dy, &sizes.matrix(keys, size))?,
            by_keys: matmul(op, &turned, &q, &sizes.matrix(keys, width))?,
        })
    }
}

struct Gradients<T> {
    sizes: Sizes,
    blocks: Vec<Backward>,
    turn_keys: Plan,
    turn_values: Plan,
    element: PhantomData<T>,
}

impl<T: WithDType> Gradients<T> {
    fn prepare(op: &'static str, sizes: Sizes) -> Result<Arc<dyn Kernel>> {
        let blocks = sizes.blocks().into_iter().map(|block| Backward::new(op, &sizes, block));
        Ok(Arc::new(Gradients::<T> {
            blocks: blocks.collect::<Result<_>>()?,
            turn_keys: sizes.turn(op, sizes.keys, sizes.width)?,
            turn_values: sizes.turn(op, sizes.keys, sizes.size)?,
            sizes,
            element: PhantomData,
        }))
    }

    /// The gradients of one head.
    ///
    /// # Safety
    /// The addresses are those of the head's matrices.
    unsafe fn head(&self, [q, k, v, dy]: [*const T; 4], [dq, dk, dv]: [*mut T; 3]) -> Result<()> {
        let Sizes { width, size, keys, .. } = self.sizes;
        let rows = self.blocks.first().map_or(0, |b| b.block.rows);
        let turned = keys * (width + size);
        let room = Workspace::new((rows * (2 * keys + width) + keys * width.max(size) + turned) * size_of::<T>())?;
        // SAFETY: by the contract; the room holds what is taken from it.
        unsafe {
            let scaled = room.as_ptr().cast::<T>();
            let weights = scaled.add(rows * width);
            let slopes = weights.add(rows * keys);
            let share = slopes.add(rows * keys);
            let turned_k = share.add(keys * width.max(size));
            let turned_v = turned_k.add(keys * width);
            self.turn_keys.run(k.cast(), turned_k.cast());
            self.turn_values.run(v.cast(), turned_v.cast());
            std::slice::from_raw_parts_mut(dk, keys * width).fill(T::default());
            std::slice::from_raw_parts_mut(dv, keys * size).fill(T::default());
            for step in &self.blocks {
                let Block { first, rows, keys } = step.block;
                let (q, dy, dq) = (q.add(first * width), dy.add(first * size), dq.add(first * width));
                step.weights.run(&self.sizes, &step.block, [q, turned_k], [scaled, weights])?;
                step.by_values.run(&[weights.cast_const().cast(), dy.cast()], &[share.cast()])?;
                add(dv, share, keys * size);
                step.by_weights.run(&[dy.cast(), turned_v.cast_const().cast()], &[slopes.cast()])?;
                step.by_scores.run(&[weights.cast_const().cast(), slopes.cast_const().cast()], &[slopes.cast()])?;
                step.by_queries.run(&[slopes.cast_const().cast(), k.cast()], &[dq.cast()])?;
                scale(dq, rows * width, self.sizes.how.scale);
                step.by_keys.run(&[slopes.cast_const().cast(), scaled.cast_const().cast()], &[share.cast()])?;
                add(dk, share, keys * width);
            }
        }
        Ok(())
    }
}

/// # Safety
/// Both are valid for `n` elements.
unsafe fn add<T: WithDType>(to: *mut T, share: *const T, n: usize) {
    // SAFETY: by the contract.
    let (to, share) = unsafe { (std::slice::from_raw_parts_mut(to, n), std::slice::from_raw_parts(share, n)) };
    to.iter_mut().zip(share).for_each(|(to, share)| *to += *share);
}

impl<T: WithDType> Kernel for Gradients<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let sizes = &self.sizes;
        let inputs = [0, 1, 2, 3].map(|i| Shared(inputs[i].cast::<T>()));
        let outputs = [0, 1, 2].map(|i| Shared(outputs[i].cast::<T>()));
        let (query, key, value) = (sizes.queries * sizes.width, sizes.keys * sizes.width, sizes.keys * sizes.size);
        let steps = [query, key, value, sizes.queries * sizes.size];
        try_parallel_for(sizes.heads, 1, |heads| {
            for head in heads {
                let inputs = std::array::from_fn(|i| inputs[i].get().wrapping_add(head * steps[i]));
                let outputs = std::array::from_fn(|i| outputs[i].get().wrapping_add(head * steps[i]));
                // SAFETY: by the contract; heads are disjoint.
                unsafe { self.head(inputs, outputs)? };
            }
            Ok(())
        })
    }

    fn cost(&self) -> u64 {
        4 * self.sizes.cost()
    }
}
