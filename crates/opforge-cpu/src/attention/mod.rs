//! Attention, `softmax(q k^T scale) v`, by blocks whose scores stay in a cache: no more of the score matrix is ever there.
//!
//! It goes by strips of queries as wide as a micro-kernel (`strip.rs`), past blocks of keys; few queries of many keys read
//! them as they lie (`few.rs`). The gradient is made of kernels for blocks of queries, which compute the scores again (`backward.rs`).

mod backward;
mod few;
mod forward;
mod mask;
mod strip;
mod weights;

use std::sync::Arc;

use opforge_core::{DType, Error, Layout, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::check_available;

use crate::copy::Plan;
use crate::loops::staged::with_contiguous;
use crate::matmul::Matrix;
use crate::matmul::operand::Summed;
use backward::Gradients;
use few::{Few, are_few};
use forward::Forward;
use mask::Mask;
pub use opforge_tile::forms::Attention;
use smallvec::SmallVec;
use strip::Element;

/// The kernel for `softmax(q k^T scale) v`.
///
/// Inputs are q, k, v and the mask, of any strides; the output `[.., n, size]` is contiguous. A mask `[.., n, m]` has the leading dimensions of q
/// (a stride of 0 repeats it); it is true where attention may go, or of q's dtype (for halves f32) and added to the scores. A query that it lets
/// nowhere gives 0. Scores of halves are f32, and so are weights, but where a processor multiplies pairs of bf16: there they are rounded.
///
/// # Errors
/// Dtypes other than floats, shapes that do not go together.
pub fn attention(
    op: &'static str,
    how: Attention,
    inputs: [&Meta; 3],
    mask: Option<&Meta>,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let sizes = Sizes::new(op, how, inputs, output)?;
    match output.dtype {
        DType::F16 => by_blocks::<f16>(sizes, inputs, Mask::of(op, &sizes, inputs[0], mask)?),
        DType::BF16 => by_blocks::<bf16>(sizes, inputs, Mask::of(op, &sizes, inputs[0], mask)?),
        DType::F32 => forward::<f32>(sizes, inputs, Mask::of(op, &sizes, inputs[0], mask)?),
        DType::F64 => forward::<f64>(sizes, inputs, Mask::of(op, &sizes, inputs[0], mask)?),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

fn forward<T: Element + Summed<Compute = T>>(
    sizes: Sizes,
    inputs: [&Meta; 3],
    mask: Option<Mask<T>>,
) -> Result<Arc<dyn HostKernel>> {
    if are_few(&sizes) {
        in_rows(inputs, |heads| Few::prepare(sizes, heads, mask))
    } else {
        by_blocks::<T>(sizes, inputs, mask)
    }
}

fn by_blocks<E: Summed>(
    sizes: Sizes,
    inputs: [&Meta; 3],
    mask: Option<Mask<E::Compute>>,
) -> Result<Arc<dyn HostKernel>> {
    in_rows(inputs, |heads| Forward::<E>::prepare(sizes, heads, mask))
}

/// The kernel for inputs whose rows are contiguous, or copies that are.
fn in_rows(inputs: [&Meta; 3], prepare: impl FnOnce([Heads; 3]) -> Arc<dyn HostKernel>) -> Result<Arc<dyn HostKernel>> {
    if inputs.iter().all(|input| Heads::of(input).column == 1) {
        return Ok(prepare(inputs.map(Heads::of)));
    }
    with_contiguous(&inputs, |flat| Ok(prepare([0, 1, 2].map(|i| Heads::of(flat[i])))))
}

/// The kernel for the gradients of [`attention`] with respect to q, k and v, its outputs, contiguous and like them; the scores are computed
/// again. Inputs are q, k, v, the output's gradient and the mask, of any strides.
///
/// # Errors
/// As [`attention`].
pub fn attention_gradients(
    op: &'static str,
    how: Attention,
    [q, k, v, dy]: [&Meta; 4],
    mask: Option<&Meta>,
    outputs: [&Meta; 3],
) -> Result<Arc<dyn HostKernel>> {
    let sizes = Sizes::new(op, how, [q, k, v], &Meta::contiguous(dy.dtype, dy.shape()))?;
    for (output, input) in outputs.into_iter().zip([q, k, v]) {
        if output.dims() != input.dims() || output.dtype != input.dtype || !output.layout.is_contiguous() {
            return Err(Error::shapes(op, output.shape(), input.shape(), "contiguous outputs like the inputs"));
        }
    }
    with_contiguous(&[q, k, v, dy], |_| match dy.dtype {
        DType::F32 => Gradients::<f32>::prepare(op, sizes, Mask::of(op, &sizes, q, mask)?),
        DType::F64 => Gradients::<f64>::prepare(op, sizes, Mask::of(op, &sizes, q, mask)?),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    })
}

/// Where the heads of an input `[.., rows, columns]` lie; strides are in elements.
struct Heads {
    /// The length and stride of each leading dimension.
    lead: SmallVec<[(usize, usize); 4]>,
    row: usize,
    column: usize,
}

impl Heads {
    fn of(input: &Meta) -> Self {
        let (dims, strides) = (input.dims(), input.layout.stride());
        let rows = dims.len() - 2;
        let lead = dims[..rows].iter().copied().zip(strides[..rows].iter().copied()).collect();
        Heads { lead, row: strides[rows], column: strides[rows + 1] }
    }

    /// A head's matrix.
    fn head<T>(&self, first: *const T, mut head: usize) -> Matrix<T> {
        let mut offset = 0;
        for (len, stride) in self.lead.iter().rev() {
            offset += head % len * stride;
            head /= len;
        }
        Matrix { at: first.wrapping_add(offset), row: self.row, column: self.column }
    }
}

#[derive(Debug, Clone, Copy)]
struct Sizes {
    how: Attention,
    dtype: DType,
    heads: usize,
    /// Neighbouring heads of queries that share keys and values.
    group: usize,
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
        let heads = |lead: &[usize]| lead.iter().product::<usize>();
        let ([lead @ .., queries, width], [lead_k @ .., keys, width_k]) = (q.dims(), k.dims()) else {
            return Err(Error::shapes(op, q.shape(), k.shape(), accepted));
        };
        let ([lead_v @ .., keys_v, size], [lead_y @ .., rows, size_y]) = (v.dims(), output.dims()) else {
            return Err(Error::shapes(op, v.shape(), output.shape(), accepted));
        };
        let fits =
            [lead_v, lead_y] == [lead_k, lead] && (width, keys, queries, size) == (width_k, keys_v, rows, size_y);
        let group = heads(lead) / heads(lead_k).max(1);
        let fits = fits && serves(lead_k, lead);
        if !fits || !output.layout.is_contiguous() {
            return Err(Error::shapes(op, q.shape(), v.shape(), accepted));
        }
        if let Some(other) = [k, v, output].iter().find(|meta| meta.dtype != q.dtype) {
            return Err(Error::dtypes(op, q.dtype, other.dtype));
        }
        let (heads, group, dtype) = (heads(lead), group.max(1), q.dtype);
        Ok(Sizes { how, dtype, heads, group, queries: *queries, keys: *keys, width: *width, size: *size })
    }

    /// # Errors
    /// [`Error::OutOfMemory`] where their kernels would not fit into memory.
    fn blocks(&self) -> Result<Vec<Block>> {
        /// Bytes of a block's kernels, about.
        const KERNELS: usize = 4 << 10;
        /// Scores of a block, about, and the bounds of its queries.
        const SCORES: usize = 1 << 17;
        let rows = (SCORES / self.keys.max(1)).clamp(16, 128);
        check_available((self.queries / rows).saturating_mul(KERNELS))?;
        let block = |first: usize| {
            let rows = rows.min(self.queries - first);
            Block { first, rows, keys: if self.how.causal { self.keys.min(first + rows) } else { self.keys } }
        };
        Ok((0..self.queries).step_by(rows).map(block).collect())
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

/// Whether keys of these leading dimensions serve queries of those: they differ in the last at most, where each serves as many.
fn serves(keys: &[usize], queries: &[usize]) -> bool {
    match (keys.split_last(), queries.split_last()) {
        (Some((few, batch)), Some((many, rest))) => batch == rest && (few == many || *few > 0 && many % few == 0),
        (None, None) => true,
        _ => false,
    }
}
