//! In-place updates of a variable and an optimizer's state by a gradient, in one pass over memory.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_tile::UpdateFn;

use crate::dispatch::dispatch_into;
use crate::operator::{AxisMap, Lowering, Metas, Operator, Tile, arity};
use crate::{Error, Meta, Result, Tensor, no_grad};

/// The operator of an update: its inputs are the `N` tensors to be changed and the gradient, its outputs the changed ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Update<F, const N: usize> {
    name: &'static str,
    f: F,
}

impl<F: UpdateFn<N> + Debug + Eq + Hash, const N: usize> Operator for Update<F, N> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name, inputs, N + 1)?;
        let (changed, grad) = (&inputs[..N], inputs[N]);
        for target in changed {
            if target.shape() != grad.shape() {
                return Err(Error::shapes(self.name, target.shape(), grad.shape(), "equal shapes"));
            }
            if target.dtype != grad.dtype {
                return Err(Error::dtypes(self.name, target.dtype, grad.dtype));
            }
        }
        Ok(changed.iter().map(|target| Meta::contiguous(target.dtype, target.shape())).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::aligned(inputs, inputs[0].rank(), N)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::update(self.f)))
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn overwrites(&self, input: usize) -> bool {
        input < N
    }
}

/// `changed = f(changed, grad)`, unrecorded.
pub fn update<F, const N: usize>(name: &'static str, f: F, changed: [&Tensor; N], grad: &Tensor) -> Result<()>
where
    F: UpdateFn<N> + Debug + Eq + Hash,
{
    no_grad(|| {
        let grad = grad.contiguous()?;
        let inputs: smallvec::SmallVec<[&Tensor; 4]> = changed.into_iter().chain([&grad]).collect();
        dispatch_into(&Update { name, f }, &inputs, &changed)
    })
}
