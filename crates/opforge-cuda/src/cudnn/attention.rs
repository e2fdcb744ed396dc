//! Attention of halves, and its gradients, as graphs: cuDNN has kernels for graphs of just these operations, in whose midst nothing reaches memory.
//!
//! Source: NVIDIA, "cuDNN: graph patterns, fused flash attention"; the formulas are those of Dao and others, "FlashAttention" (2022).

use std::ffi::{c_int, c_void};
use std::ptr;

use opforge_core::Result;

use super::graph::{Functions, Graph, Planned, Tensor, dense, note};
use super::operations::{BOOLEAN, Combine, FLOAT, Function, INTEGER};
use super::{Dnn, checked, cudnn_version, pointer};
use crate::driver::{Address, Handle};
use crate::gpu::Gpu;
use crate::memory::Block;

/// The version from which on weights may be 0 by scores of negative infinity.
const FIRST: [u32; 3] = [9, 10, 0];

/// Attention of tensors `[batches, heads, rows, columns]`; each head of keys and values serves several of queries.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// By cuDNN's number.
    pub dtype: c_int,
    pub batches: i64,
    pub heads: i64,
    pub shared_heads: i64,
    pub queries: i64,
    pub keys: i64,
    /// The columns of queries and keys, and of values.
    pub width: i64,
    pub size: i64,
    /// Strides of what is given in elements, of the first three dimensions; those of columns are 1.
    pub q: [i64; 3],
    pub k: [i64; 3],
    pub v: [i64; 3],
    pub grad: [i64; 3],
    pub causal: bool,
    pub gradient: bool,
    pub scale: f32,
}

/// What a run of a graph gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Input(usize),
    Output(usize),
    /// The result, which the gradient needs.
    Result,
    /// Logarithms of the sums of exponentials, for each query.
    Logs,
    /// Sums of products of the result and its gradient, for each query.
    Sums,
    Scale,
    One,
    Least,
}

/// A graph that is prepared, and what its runs give.
type Prepared = (Planned, Vec<Given>);

/// Prepared attention.
pub(crate) struct Attention {
    forward: Prepared,
    backward: Option<Prepared>,
    scale: f32,
    /// Bytes of a number for each query, and of the result.
    of_queries: usize,
    of_result: usize,
}

impl Problem {
    fn scores(&self) -> [i64; 4] {
        [self.batches, self.heads, self.queries, self.keys]
    }

    fn of_queries(&self) -> [i64; 4] {
        [self.batches, self.heads, self.queries, 1]
    }

    fn result(&self) -> [i64; 4] {
        [self.batches, self.heads, self.queries, self.size]
    }
}

/// A graph of attention that is being written.
struct Writer<'p> {
    graph: Graph,
    of: &'p Problem,
    given: Vec<Given>,
}

impl<'p> Writer<'p> {
    fn new(functions: &'static Functions, of: &'p Problem) -> Self {
        Writer { graph: Graph::new(functions), of, given: Vec::new() }
    }

    fn strided(&mut self, which: Given, dims: &[i64], strides: &[i64]) -> Option<Tensor> {
        self.given.push(which);
        self.graph.given(self.of.dtype, dims, strides)
    }

    fn contiguous(&mut self, which: Given, dtype: c_int, dims: &[i64]) -> Option<Tensor> {
        self.given.push(which);
        self.graph.given(dtype, dims, &dense(dims))
    }

    fn number(&mut self, which: Given) -> Option<Tensor> {
        self.given.push(which);
        self.graph.number(FLOAT, 4)
    }

    /// The queries, or what has their shape but for the columns.
    fn queries(&mut self, which: Given, columns: i64, [batch, head, row]: [i64; 3]) -> Option<Tensor> {
        let of = self.of;
        self.strided(which, &[of.batches, of.heads, of.queries, columns], &[batch, head, row, 1])
    }

    /// The transposed keys or values.
    fn turned(&mut self, which: Given, columns: i64, [batch, head, row]: [i64; 3]) -> Option<Tensor> {
        let of = self.of;
        self.strided(which, &[of.batches, of.shared_heads, columns, of.keys], &[batch, head, 1, row])
    }

    /// Scores, times the scale.
    fn scores(&mut self, q: &Tensor, k: &Tensor, scale: &Tensor) -> Option<Tensor> {
        let products = self.graph.between(FLOAT, &self.of.scores())?;
        self.graph.multiply(q, k, &products)?;
        self.graph.apply(Function::Multiply, &[&products, scale])
    }

    /// Negative infinity where a query sees no key, if some do not see all.
    fn masked(&mut self, scores: Tensor) -> Option<Tensor> {
        if !self.of.causal {
            return Some(scores);
        }
        let least = self.number(Given::Least)?;
        let mut position = |axis| {
            let to = self.graph.between(INTEGER, &scores.dims)?;
            self.graph.function(Function::Position, &[&scores], &to, INTEGER, Some(axis))?;
            Some(to)
        };
        let (row, column) = (position(2)?, position(3)?);
        let is_seen = self.graph.between(BOOLEAN, &scores.dims)?;
        self.graph.function(Function::IsAtLeast, &[&row, &column], &is_seen, BOOLEAN, None)?;
        self.graph.apply(Function::Select, &[&scores, &least, &is_seen])
    }

    fn planned(self, handle: Handle) -> Option<Prepared> {
        let refused = [note::CONVERTS_INPUTS, note::SUMS_IN_LESS, note::NOT_DETERMINISTIC];
        Some((self.graph.plan(handle, |note| refused.contains(&note))?, self.given))
    }

    /// `softmax(q k^T scale) v`, and the logarithms.
    fn forward(mut self) -> Option<Self> {
        let of = self.of;
        let q = self.queries(Given::Input(0), of.width, of.q)?;
        let k = self.turned(Given::Input(1), of.width, of.k)?;
        let [batch, head, row] = of.v;
        let shape = [of.batches, of.shared_heads, of.keys, of.size];
        let v = self.strided(Given::Input(2), &shape, &[batch, head, row, 1])?;
        let y = if of.gradient { Given::Result } else { Given::Output(0) };
        let y = self.contiguous(y, of.dtype, &of.result())?;
        let scale = self.number(Given::Scale)?;
        let scores = self.scores(&q, &k, &scale)?;
        let scores = self.masked(scores)?;
        let most = self.graph.between(FLOAT, &of.of_queries())?;
        self.graph.combine(Combine::Max, &scores, &most)?;
        let distance = self.graph.apply(Function::Subtract, &[&scores, &most])?;
        let powers = self.graph.apply(Function::Exp, &[&distance])?;
        let total = self.graph.between(FLOAT, &of.of_queries())?;
        self.graph.combine(Combine::Sum, &powers, &total)?;
        let log = self.graph.apply(Function::Log, &[&total])?;
        let logs = self.contiguous(Given::Logs, FLOAT, &of.of_queries())?;
        self.graph.function(Function::Add, &[&most, &log], &logs, FLOAT, None)?;
        let weights = self.graph.between(of.dtype, &of.scores())?;
        self.graph.function(Function::Divide, &[&powers, &total], &weights, FLOAT, None)?;
        self.graph.multiply(&weights, &v, &y)?;
        Some(self)
    }

    /// The transposed matrices of scores, in the inputs' dtype.
    fn turned_scores(&mut self, of: &Tensor) -> Option<Tensor> {
        let [batches, heads, queries, keys] = self.of.scores();
        self.graph.seen_as(
            of,
            self.of.dtype,
            &[batches, heads, keys, queries],
            &[heads * queries * keys, queries * keys, 1, keys],
        )
    }

    /// `scores^T rows`, summed over the heads that share keys.
    fn gradient_of_keys(&mut self, scores: &Tensor, rows: &Tensor, columns: i64, to: Given) -> Option<()> {
        let of = self.of;
        let turned = self.turned_scores(scores)?;
        let to = self.contiguous(to, of.dtype, &[of.batches, of.shared_heads, of.keys, columns])?;
        if of.heads == of.shared_heads {
            return self.graph.multiply(&turned, rows, &to);
        }
        let of_heads = self.graph.between(of.dtype, &[of.batches, of.heads, of.keys, columns])?;
        self.graph.multiply(&turned, rows, &of_heads)?;
        self.graph.combine(Combine::Sum, &of_heads, &to)
    }

    /// The gradients of q, k and v.
    fn backward(mut self) -> Option<Self> {
        let of = self.of;
        let q = self.queries(Given::Input(0), of.width, of.q)?;
        let k = self.turned(Given::Input(1), of.width, of.k)?;
        let v = self.turned(Given::Input(2), of.size, of.v)?;
        let grad = self.queries(Given::Input(3), of.size, of.grad)?;
        let y = self.contiguous(Given::Result, of.dtype, &of.result())?;
        let logs = self.contiguous(Given::Logs, FLOAT, &of.of_queries())?;
        let sums = self.contiguous(Given::Sums, FLOAT, &of.of_queries())?;
        let (scale, one) = (self.number(Given::Scale)?, self.number(Given::One)?);
        let products = self.graph.apply(Function::Multiply, &[&grad, &y])?;
        let total = self.graph.between(FLOAT, &of.of_queries())?;
        self.graph.combine(Combine::Sum, &products, &total)?;
        self.graph.function(Function::Multiply, &[&total, &one], &sums, FLOAT, None)?;
        let scores = self.scores(&q, &k, &scale)?;
        let distance = self.graph.apply(Function::Subtract, &[&scores, &logs])?;
        let distance = self.masked(distance)?;
        let weights = self.graph.apply(Function::Exp, &[&distance])?;
        self.gradient_of_keys(&weights, &grad, of.size, Given::Output(2))?;
        let by_weights = self.graph.between(FLOAT, &of.scores())?;
        self.graph.multiply(&grad, &v, &by_weights)?;
        let centered = self.graph.apply(Function::Subtract, &[&by_weights, &sums])?;
        let by_scores = self.graph.apply(Function::Multiply, &[&centered, &weights])?;
        let by_scores = self.graph.apply(Function::Multiply, &[&by_scores, &scale])?;
        self.gradient_of_keys(&by_scores, &q, of.width, Given::Output(1))?;
        let [batch, head, row] = of.k;
        let shape = [of.batches, of.shared_heads, of.keys, of.width];
        let k = self.graph.seen_as(&k, of.dtype, &shape, &[batch, head, row, 1])?;
        let to = self.contiguous(Given::Output(0), of.dtype, &[of.batches, of.heads, of.queries, of.width])?;
        self.graph.multiply(&by_scores, &k, &to)?;
        Some(self)
    }
}

impl Dnn {
    /// Has the library prepare attention, or its gradients; none where it has no kernel that gives the same results at every run.
    pub fn attention(&self, gpu: &Gpu, op: &'static str, of: &Problem) -> Option<Attention> {
        let graphs = cudnn_version().filter(|version| *version >= FIRST).map(|_| self.graphs)?;
        gpu.enter(op).ok()?;
        let handle = self.handle();
        let forward = Writer::new(graphs, of).forward()?.planned(*handle)?;
        let backward = match of.gradient {
            true => Some(Writer::new(graphs, of).backward()?.planned(*handle)?),
            false => None,
        };
        let nbytes =
            |dims: [i64; 4], of_element| Some(usize::try_from(dims.iter().product::<i64>()).ok()? * of_element);
        let (of_queries, of_result) = (nbytes(of.of_queries(), size_of::<f32>())?, nbytes(of.result(), 2)?);
        Some(Attention { forward, backward, scale: of.scale, of_queries, of_result })
    }

    /// Issues attention.
    ///
    /// # Safety
    /// The addresses are those of inputs and outputs as the problem describes them, multiples of 16.
    pub unsafe fn attend(
        &self,
        (gpu, op): (&'static Gpu, &'static str),
        of: &Attention,
        [inputs, outputs]: [&[Address]; 2],
    ) -> Result<()> {
        let block = |nbytes| Block::new(gpu, nbytes);
        let logs = block(of.of_queries)?;
        let [sums, result] = match of.backward {
            Some(_) => [Some(block(of.of_queries)?), Some(block(of.of_result)?)],
            None => [None, None],
        };
        let at = |block: &Option<Block>| block.as_ref().map_or(ptr::null_mut(), |block| pointer(block.at));
        let (one, least) = (1f32, f32::NEG_INFINITY);
        let number = |number: &f32| ptr::from_ref(number).cast_mut().cast::<c_void>();
        for (plan, given) in [&of.forward].into_iter().chain(&of.backward) {
            let place = |given: &Given| match *given {
                Given::Input(i) => pointer(inputs[i]),
                Given::Output(i) => pointer(outputs[i]),
                Given::Result => at(&result),
                Given::Logs => pointer(logs.at),
                Given::Sums => at(&sums),
                Given::Scale => number(&of.scale),
                Given::One => number(&one),
                Given::Least => number(&least),
            };
            let all: Vec<*mut c_void> = given.iter().map(place).collect();
            let workspace = if plan.nbytes > 0 { Some(block(plan.nbytes)?) } else { None };
            // SAFETY: these are what the graph was given, in its order; numbers are only read, and live until this returns.
            let status = unsafe { plan.run(*self.handle(), &all, at(&workspace)) };
            checked((gpu, op), status)?;
        }
        Ok(())
    }
}
