//! Reductions of erased type: what operators that combine many elements lower to.

use std::fmt::Debug;
use std::sync::Arc;

use opforge_core::DType;
use opforge_cpu::reduce::{self, ReduceKernel};
use opforge_tile::{Reducer, TruthReducer};
use opforge_trace::{Arithmetic, Reduction};
use smallvec::SmallVec;

use crate::{Meta, Result};

/// Many elements combined to one, along axes of the input.
pub struct Reduce {
    function: Box<dyn ReduceFn>,
    /// The axes that go, or stay with length 1, ascending.
    pub axes: SmallVec<[usize; 6]>,
}

/// A reducer as those see it who do not know its type.
trait ReduceFn: Send + Sync {
    fn trace(&self, input: DType, output: DType, count: usize, arithmetic: Arithmetic) -> Option<Reduction>;
    fn kernel(&self, op: &'static str, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<ReduceKernel>>;
}

impl Reduce {
    /// What a reducer makes of numbers.
    pub fn numbers(reducer: impl Reducer, axes: &[usize]) -> Self {
        Reduce { function: Box::new(Numbers(reducer)), axes: axes.into() }
    }

    /// What a reducer makes of whether elements differ from 0.
    pub fn truths(reducer: TruthReducer, axes: &[usize]) -> Self {
        Reduce { function: Box::new(Truths(reducer)), axes: axes.into() }
    }

    /// What is computed of `count` elements, of these dtypes; f16 and bf16 are widened to f32 before and rounded at the end.
    /// None for dtypes that have no trace.
    pub fn trace(
        &self,
        input: DType,
        output: DType,
        count: usize,
        arithmetic: impl Into<Arithmetic>,
    ) -> Option<Reduction> {
        self.function.trace(input, output, count, arithmetic.into())
    }

    /// The kernel of the CPU.
    ///
    /// # Errors
    /// Dtypes that the reducer does not have.
    pub fn kernel(&self, op: &'static str, input: &Meta, output: &Meta) -> Result<Arc<ReduceKernel>> {
        self.function.kernel(op, input, &self.axes, output)
    }
}

impl Debug for Reduce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduce").field("axes", &self.axes).finish_non_exhaustive()
    }
}

struct Numbers<R>(R);
impl<R: Reducer> ReduceFn for Numbers<R> {
    fn trace(&self, input: DType, output: DType, count: usize, arithmetic: Arithmetic) -> Option<Reduction> {
        opforge_trace::reduce(self.0, input, output, count, arithmetic)
    }
    fn kernel(&self, op: &'static str, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<ReduceKernel>> {
        reduce::reduce(op, self.0, input, axes, output)
    }
}

struct Truths(TruthReducer);
impl ReduceFn for Truths {
    fn trace(&self, input: DType, output: DType, _: usize, _: Arithmetic) -> Option<Reduction> {
        opforge_trace::reduce_truth(self.0, input, output)
    }
    fn kernel(&self, op: &'static str, input: &Meta, axes: &[usize], output: &Meta) -> Result<Arc<ReduceKernel>> {
        reduce::reduce_truth(op, self.0, input, axes, output)
    }
}
