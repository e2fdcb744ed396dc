//! The operators that bring tensors into and out of distributions. Their gradients go the way back.

use opforge::autograd::Backward;
use opforge::dispatch::dispatch1;
use opforge::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Operator, arity};
use opforge::term::{Term, unexpected};
use opforge::{Device, Error, Meta, Result, Shape, Tensor};
use smallvec::{SmallVec, smallvec};

use super::device::device_of;
use crate::{Distribution, Sbp};

impl Attributes for Distribution {
    fn type_name() -> String {
        "Distribution".to_owned()
    }
    fn write(&self) -> Term {
        Term::Text(self.to_string())
    }
    fn read(term: &Term) -> Result<Self> {
        let text = match term {
            Term::Text(text) => text.parse().ok(),
            _ => None,
        };
        text.ok_or_else(|| unexpected("Distribution", term, "a placement with as many Sbp"))
    }
}

/// A gradient lies as its tensor does, but for partial ones: each part has all of it.
pub(super) fn of_gradient(distribution: &Distribution) -> Result<Distribution> {
    let whole = |sbp: &Sbp| if matches!(sbp, Sbp::Partial(_)) { Sbp::Broadcast } else { *sbp };
    let sbp: Vec<Sbp> = distribution.sbp().iter().map(whole).collect();
    Distribution::new(distribution.placement().clone(), &sbp)
}

/// No axis may be split: ranks do it together.
fn whole(inputs: &[&Meta], rank: usize) -> AxisMap {
    let none = |rank| SmallVec::from_elem(None, rank);
    AxisMap {
        inputs: inputs.iter().map(|meta| none(meta.rank())).collect(),
        outputs: vec![none(rank)],
        roles: SmallVec::new(),
    }
}

/// What ranks do together is no kernel.
fn no_kernel(op: &'static str) -> Result<Lowering> {
    Err(Error::value(op, "device", "a kernel's", "ranks of a world"))
}

/// Local tensors become the parts of a global one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub(super) struct Enter {
    pub to: Distribution,
    /// The shape of the whole.
    pub shape: Shape,
    /// Whether ranks make sure that what they have in common is the same, as the first of them has it.
    pub agree: bool,
}

impl Operator for Enter {
    fn name(&self) -> &'static str {
        "to_global"
    }

    fn device(&self) -> Option<Device> {
        device_of(self.to.placement()).ok()
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        whole(inputs, self.shape.rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        no_kernel(self.name())
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let part = leave(&redistribute(&ctx.grad(0)?, &of_gradient(&self.to)?)?, ctx.input_meta(0).shape())?;
        Ok(smallvec![Some(part)])
    }
}

/// This rank's part of a global tensor, as a local one; of no elements on ranks that have none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub(super) struct Leave {
    pub from: Distribution,
    /// The shape of the part.
    pub shape: Shape,
}

impl Operator for Leave {
    fn name(&self) -> &'static str {
        "to_local"
    }

    fn device(&self) -> Option<Device> {
        Some(Device::Cpu)
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        whole(inputs, self.shape.rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        no_kernel(self.name())
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let to = of_gradient(&self.from)?;
        let shape = ctx.input_meta(0).shape().clone();
        Ok(smallvec![Some(dispatch1(&Enter { to, shape, agree: false }, &[&ctx.grad(0)?.contiguous()?])?)])
    }
}

/// The same tensor in another distribution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub(super) struct Redistribute {
    pub from: Distribution,
    pub to: Distribution,
}

impl Operator for Redistribute {
    fn name(&self) -> &'static str {
        "redistribute"
    }

    fn device(&self) -> Option<Device> {
        device_of(self.to.placement()).ok()
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        self.to.check(inputs[0].shape())?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, inputs[0].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        whole(inputs, inputs[0].rank())
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        no_kernel(self.name())
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(redistribute(&ctx.grad(0)?, &of_gradient(&self.from)?)?)])
    }
}

/// This rank's part, of a known shape.
#[track_caller]
pub(super) fn leave(tensor: &Tensor, shape: &Shape) -> Result<Tensor> {
    let from = super::convert::distribution(tensor)?;
    dispatch1(&Leave { from: (*from).clone(), shape: shape.clone() }, &[tensor])
}

/// The tensor in a distribution: itself if that is its own.
#[track_caller]
pub(super) fn redistribute(tensor: &Tensor, to: &Distribution) -> Result<Tensor> {
    let from = super::convert::distribution(tensor)?;
    if *from == *to {
        return Ok(tensor.clone());
    }
    dispatch1(&Redistribute { from: (*from).clone(), to: to.clone() }, &[tensor])
}
