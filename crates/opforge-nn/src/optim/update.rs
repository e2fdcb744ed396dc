//! In-place elementwise updates: operators whose output is their first input.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use opforge::dispatch::dispatch_into;
use opforge::operator::{AxisMap, Metas, Operator, arity};
use opforge::{Error, Meta, Result, Tensor, no_grad};
use opforge_cpu::elementwise::{self, BinaryFn, TernaryFn};
use opforge_runtime::Kernel;
use smallvec::smallvec;

/// The operator of an update by one tensor.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct By1<F>(&'static str, F);

/// The operator of an update by two tensors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct By2<F>(&'static str, F);

/// All tensors have one shape and dtype, which is the result's.
fn infer(op: &'static str, inputs: &[&Meta], count: usize) -> Result<Metas> {
    arity(op, inputs, count)?;
    let target = inputs[0];
    for other in &inputs[1..] {
        if other.shape() != target.shape() {
            return Err(Error::shapes(op, target.shape(), other.shape(), "equal shapes"));
        }
        if other.dtype != target.dtype {
            return Err(Error::dtypes(op, target.dtype, other.dtype));
        }
    }
    Ok(smallvec![Meta::contiguous(target.dtype, target.shape())])
}

macro_rules! operator {
    ($op:ident of $function:ident, $count:literal tensors, $kernel:expr) => {
        impl<F: $function + Debug + Eq + Hash> Operator for $op<F> {
            fn name(&self) -> &'static str {
                self.0
            }

            fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
                infer(self.0, inputs, $count)
            }

            fn axes(&self, inputs: &[&Meta]) -> AxisMap {
                AxisMap::pointwise(inputs, inputs[0].rank())
            }

            fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
                $kernel(self, inputs, outputs[0])
            }

            fn differentiable(&self) -> bool {
                false
            }

            fn overwrites(&self, _: usize) -> bool {
                true
            }
        }
    };
}
operator!(By1 of BinaryFn, 2 tensors, |op: &By1<F>, i: &[&Meta], out| elementwise::binary(op.0, op.1, i[0], i[1], out));
operator!(By2 of TernaryFn, 3 tensors, |op: &By2<F>, i: &[&Meta], out| {
    elementwise::ternary(op.0, op.1, [i[0], i[1], i[2]], out)
});

/// `target = f(target, a)`, unrecorded.
pub(super) fn by1<F>(name: &'static str, f: F, target: &Tensor, a: &Tensor) -> Result<()>
where
    F: BinaryFn + Debug + Eq + Hash,
{
    no_grad(|| dispatch_into(&By1(name, f), &[target, a], &[target]))
}

/// `target = f(target, a, b)`, unrecorded.
pub(super) fn by2<F>(name: &'static str, f: F, target: &Tensor, a: &Tensor, b: &Tensor) -> Result<()>
where
    F: TernaryFn + Debug + Eq + Hash,
{
    no_grad(|| dispatch_into(&By2(name, f), &[target, a, b], &[target]))
}
