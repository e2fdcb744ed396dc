//! Functions of rows ([`RowFn`]): one row at a time or, where rows lie side by side or are short, as many as a vector has lanes. Either way what a row
//! needs stays in a cache.

mod across;
mod along;
mod passes;
mod turned;

use std::marker::PhantomData;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_tile::RowFn;

use crate::loops::plan::{LoopDim, LoopDims, iterations, order_and_merge};
use crate::loops::staged::with_contiguous;
use crate::loops::tasks::{Job, prepare};
use crate::simd::stored::StoredFloat;
use across::Across;
pub(crate) use across::exact_sum;
use along::Along;
use turned::Turned;

/// Tensors that a function of rows has at most, inputs and outputs together.
const TENSORS: usize = 6;
/// No vector has more lanes.
const MAX_LANES: usize = 16;
/// Vectors of terms that are folded in line before they enter the whole: errors of sums grow with the number of additions in line.
const BLOCK: usize = 64;

/// The kernel of a function of rows, which lie along `axis` of the first output.
///
/// Inputs are floats of one dtype and are broadcast to the first output's shape. Outputs have that shape and dtype, and any strides without
/// overlaps. f16 and bf16 are computed in f32.
///
/// # Errors
/// Other dtypes and shapes, an axis out of range, outputs that overlap themselves, no outputs or too many.
pub fn rows<const K: usize>(
    op: &'static str,
    f: impl RowFn<K>,
    axis: usize,
    inputs: [&Meta; K],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    const { assert!(K > 0, "a function of rows has an input") };
    let (space, tensors) = (Space::new(op, axis, &inputs, outputs)?, K + outputs.len());
    let whole = outputs[0];
    let of_one_shape = inputs.iter().all(|m| m.shape() == whole.shape());
    let has_gaps = inputs.iter().any(|m| !m.layout.is_contiguous());
    if whole.layout.is_contiguous() && of_one_shape && has_gaps && !space.is_read_in_vectors(tensors) {
        let flat = inputs.map(|m| Meta::contiguous(m.dtype, m.shape()));
        if Space::new(op, axis, &flat.each_ref(), outputs)?.is_read_in_vectors(tensors) {
            // Of strided or repeated inputs, rows are read one element at a time: a copy is quicker.
            return with_contiguous(&inputs, |flat| rows(op, f, axis, std::array::from_fn(|k| flat[k]), outputs));
        }
    }
    match inputs[0].dtype {
        DType::F16 => Ok(kernel::<f16, _, K>(f, space, tensors)),
        DType::BF16 => Ok(kernel::<bf16, _, K>(f, space, tensors)),
        DType::F32 => Ok(kernel::<f32, _, K>(f, space, tensors)),
        DType::F64 => Ok(kernel::<f64, _, K>(f, space, tensors)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// The rows of all tensors: inputs first, then outputs.
#[derive(Clone)]
struct Space {
    outer: LoopDims<TENSORS>,
    along: LoopDim<TENSORS>,
}

impl Space {
    fn new(op: &'static str, axis: usize, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Self> {
        if outputs.is_empty() || inputs.len() + outputs.len() > TENSORS {
            let accepted = format!("at least one, and with {} inputs at most {TENSORS} tensors", inputs.len());
            return Err(Error::value(op, "outputs", outputs.len(), accepted));
        }
        let (dtype, whole) = (inputs[0].dtype, outputs[0]);
        if axis >= whole.rank() {
            return Err(Error::index(op, "axis", axis, format!("an axis of the shape {:?}", whole.shape())));
        }
        let mut strides = [const { Vec::new() }; TENSORS];
        for (strides, input) in strides.iter_mut().zip(inputs) {
            if input.dtype != dtype {
                return Err(Error::dtypes(op, dtype, input.dtype));
            }
            *strides = input.layout.broadcast_as(whole.shape(), op)?.stride().to_vec();
        }
        for (strides, output) in strides[inputs.len()..].iter_mut().zip(outputs) {
            if output.dtype != dtype {
                return Err(Error::dtype(op, "output", output.dtype, dtype));
            }
            if output.shape() != whole.shape() || output.layout.may_overlap_itself() {
                let accepted = format!("{:?}, without overlaps", whole.shape());
                return Err(Error::shape(op, "output", format!("{:?}", output.layout), accepted));
            }
            *strides = output.layout.stride().to_vec();
        }
        let dim = |d: usize| LoopDim {
            len: whole.dims()[d],
            stride: std::array::from_fn(|k| strides[k].get(d).copied().unwrap_or(0)),
        };
        Ok(Space { outer: (0..whole.rank()).filter(|&d| d != axis).map(dim).collect(), along: dim(axis) })
    }

    /// Whether elements that are computed together lie next to each other: those of a row, or of rows side by side.
    fn is_read_in_vectors(&self, tensors: usize) -> bool {
        self.along.stride[..tensors].iter().all(|&stride| stride == 1) || self.is_side_by_side(tensors)
    }

    /// Whether neighbouring rows lie side by side: places of all tensors are next to each other along the innermost loop over rows.
    fn is_side_by_side(&self, tensors: usize) -> bool {
        let adjacent = |dim: &LoopDim<TENSORS>| dim.len >= 8 && dim.stride[..tensors].iter().all(|&stride| stride == 1);
        self.along.stride[0] != 1 && self.outer.last().is_some_and(adjacent)
    }
}

/// Up to this length, rows of f32 that lie one after another are turned into columns: what is found of one row waits for it, of several at once it does
/// not. To turn longer ones, or the few of a vector of f64, takes longer than to wait.
const SHORT: usize = 28;
/// Elements of a plain loop that take as long as one of a row: it is gone over several times, most often for an exponential.
const WORK: usize = 4;
/// Columns of a task where rows are columns: a cache line of the narrowest elements that are computed in.
const COLUMNS: usize = MAX_LANES;

/// A function over rows of stored elements `E`.
struct Rows<E, F, const K: usize> {
    f: F,
    space: Space,
    outputs: usize,
    element: PhantomData<E>,
}

fn kernel<E: StoredFloat, F: RowFn<K>, const K: usize>(f: F, mut space: Space, tensors: usize) -> Arc<dyn HostKernel> {
    if iterations(&space.outer) > 0 {
        order_and_merge(&mut space.outer);
    }
    let (len, size) = (space.along.len, size_of::<E::Compute>());
    let work = len.saturating_mul(WORK);
    let kept = |places: usize| if F::KEEPS { places.saturating_mul(size) } else { 0 };
    if space.is_side_by_side(tensors) {
        let columns = space.outer.pop().map_or(1, |dim| dim.len);
        let tasks = iterations(&space.outer) * columns.div_ceil(COLUMNS);
        let memory = kept(len.saturating_mul(MAX_LANES));
        let rows = Rows::<E, F, K> { f, space, outputs: tensors - K, element: PhantomData };
        return prepare(Across { rows, columns }, tasks, work.saturating_mul(COLUMNS), memory);
    }
    let (tasks, memory) = (iterations(&space.outer), kept(len.saturating_add(MAX_LANES)));
    let is_flat = space.along.stride[..tensors].iter().all(|&stride| stride == 1);
    let is_turned = |next: &LoopDim<TENSORS>| is_flat && len <= SHORT && next.len >= COLUMNS;
    if const { size_of::<E::Compute>() == size_of::<f32>() }
        && let Some(next) = space.outer.last().copied().filter(is_turned)
    {
        space.outer.pop();
        let tasks = iterations(&space.outer) * next.len.div_ceil(COLUMNS);
        let memory = (tensors + usize::from(F::KEEPS)) * len * MAX_LANES * size;
        let rows = Rows::<E, F, K> { f, space, outputs: tensors - K, element: PhantomData };
        return prepare(Turned { rows, next }, tasks, work * COLUMNS, memory);
    }
    let rows = Rows::<E, F, K> { f, space, outputs: tensors - K, element: PhantomData };
    if is_flat {
        prepare(Along::<_, _, K, true>(rows), tasks, work, memory)
    } else {
        prepare(Along::<_, _, K, false>(rows), tasks, work, memory)
    }
}

/// Where a row's first places are in all tensors, inputs and then outputs, and how far apart the others.
struct Places<'a, E, const K: usize> {
    job: &'a Job,
    at: [usize; TENSORS],
    step: &'a [usize; TENSORS],
    outputs: usize,
    element: PhantomData<E>,
}

impl<E, const K: usize> Clone for Places<'_, E, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E, const K: usize> Copy for Places<'_, E, K> {}

impl<E, F, const K: usize> Rows<E, F, K> {
    /// The places of the row where the loops are at `at`.
    #[inline(always)]
    fn places<'a>(&'a self, job: &'a Job, at: [usize; TENSORS]) -> Places<'a, E, K> {
        Places { job, at, step: &self.space.along.stride, outputs: self.outputs, element: PhantomData }
    }
}

impl<E, const K: usize> Places<'_, E, K> {
    /// Place `i` in input `k`.
    #[inline(always)]
    fn input(&self, k: usize, i: usize) -> *const E {
        self.job.inputs[k].cast::<E>().wrapping_add(self.at[k] + i * self.step[k])
    }

    /// The first place in output `k`, and how far apart the others are.
    ///
    /// # Panics
    /// If there is no such output.
    #[inline(always)]
    fn output(&self, k: usize) -> (*mut E, usize) {
        assert!(k < self.outputs, "a function of rows writes output {k} of {}", self.outputs);
        (self.job.outputs[k].cast::<E>().wrapping_add(self.at[K + k]), self.step[K + k])
    }
}
