//! In-place updates of a variable and an optimizer's state by a gradient, in one pass over memory.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use opforge_tile::UpdateFn;

use super::{check_dtypes, ensure};
use crate::declaration::{Array, Sample};
use crate::dispatch::dispatch_into;
use crate::operator::{Attributes, AxisMap, Lowering, Metas, Operator, Reader, Tile, arity};
use crate::{Error, Meta, Result, Tensor, no_grad};

/// An update of `N` numbers by a gradient.
pub trait Step<const N: usize>: UpdateFn<N> + Debug + Eq + Hash + Attributes {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the update's operator from text.
    const READERS: &'static [Reader] = &[Reader::of::<Update<Self, N>>()];
}

/// The operator of an update: its inputs are the `N` tensors to be changed and the gradient, its outputs the changed ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Update<F, const N: usize>(pub F);

impl<F: Step<N>, const N: usize> Operator for Update<F, N> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(F::NAME, inputs, N + 1)?;
        let (changed, grad) = (&inputs[..N], inputs[N]);
        for target in changed {
            ensure(target.shape() == grad.shape(), || {
                Error::shapes(F::NAME, target.shape(), grad.shape(), "equal shapes")
            })?;
            check_dtypes(F::NAME, target, grad)?;
        }
        if let Some(strided) = inputs.iter().find(|input| !input.layout.is_contiguous()) {
            return Err(Error::shape(F::NAME, "tensors", format!("{:?}", strided.layout), "contiguous"));
        }
        Ok(changed.iter().map(|target| Meta::contiguous(target.dtype, target.shape())).collect())
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::aligned(inputs, inputs[0].rank(), N)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Tile(Tile::update(self.0)))
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn overwrites(&self, input: usize) -> bool {
        input < N
    }
}

/// `changed = f(changed, grad)`, unrecorded.
pub fn update<F: Step<N>, const N: usize>(f: F, changed: [&Tensor; N], grad: &Tensor) -> Result<()> {
    no_grad(|| {
        let grad = grad.contiguous()?;
        let inputs: smallvec::SmallVec<[&Tensor; 4]> = changed.into_iter().chain([&grad]).collect();
        dispatch_into(&Update(f), &inputs, &changed)
    })
}

/// Fails unless a list has one tensor for each parameter.
pub(crate) fn check_list(op: &'static str, name: &'static str, list: &[Tensor], params: &[Tensor]) -> Result<()> {
    ensure(list.len() == params.len(), || {
        Error::value(op, name, format!("{} tensors", list.len()), format!("one for each of {} params", params.len()))
    })
}

/// Calls `f` with the tensors row-major, as updates want them; those that are not get its changes afterwards.
pub(crate) fn dense<const N: usize>(changed: [&Tensor; N], f: impl FnOnce([&Tensor; N]) -> Result<()>) -> Result<()> {
    if changed.iter().all(|t| t.is_contiguous()) {
        return f(changed);
    }
    no_grad(|| {
        let copies = changed.iter().map(|t| t.contiguous()).collect::<Result<Vec<_>>>()?;
        f(std::array::from_fn(|i| &copies[i]))?;
        changed.iter().zip(&copies).filter(|(t, _)| !t.is_contiguous()).try_for_each(|(t, copy)| t.copy_from(copy))
    })
}

/// A sample of an update: of its inputs `changed` and then the gradient; the reference takes an element of each and gives the changed ones.
pub fn update_sample<F: Step<N>, const N: usize>(
    f: F,
    inputs: [Range<f64>; N],
    reference: fn([f64; N], f64) -> [f64; N],
) -> Sample {
    let shape = [3, 5];
    let inputs = inputs.into_iter().chain([-1.0..1.5]).map(|range| Array::spread(&shape, range)).collect();
    let elements = move |x: &[Array], i: usize| reference(std::array::from_fn(|k| x[k].data[i]), x[N].data[i]);
    let reference = move |x: &[Array]| {
        let of = |k: usize| (0..x[N].data.len()).map(|i| elements(x, i)[k]).collect();
        (0..N).map(|k| Array::new(&x[N].shape, of(k))).collect()
    };
    Sample::many(Update(f), inputs, reference).rough()
}
