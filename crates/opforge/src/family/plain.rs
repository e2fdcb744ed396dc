//! Operators that constants and a form describe.

use std::fmt::Debug;
use std::hash::Hash;

use crate::autograd::Backward;
use crate::dispatch::dispatch;
use crate::operator::{
    Attributes, AxisMap, Grads, Law, Linearity, Lowering, Metas, Operator, Place, Saves, Tensors, arity,
};
use crate::{Error, Meta, Result, Tensor};

/// An operator whose name and number of inputs are constants, and whose form does not depend on the inputs' metas. Whatever implements this is an
/// [`Operator`], whose documentation says more of each item.
pub trait Plain: Debug + Clone + Eq + Hash + Attributes + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;
    /// How many inputs it takes.
    const INPUTS: usize = 1;
    /// What the gradient reads.
    const SAVES: Saves = Saves::NOTHING;
    /// Whether there is a gradient.
    const DIFFERENTIABLE: bool = true;
    /// Which outputs carry a gradient, a bit each.
    const DIFFERENTIABLE_OUTPUTS: u32 = u32::MAX;
    /// Which inputs the result may be written over, a bit each.
    const OVERWRITES: u32 = 0;
    /// Checks the inputs, as many as there should be, and says what the outputs are.
    fn infer(&self, inputs: &[&Meta]) -> Result<Metas>;
    /// How axes flow from inputs to outputs.
    fn axes(&self, inputs: &[&Meta]) -> AxisMap;
    /// See [`Operator::decompose`].
    fn decompose(&self, _inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        None
    }
    /// See [`Operator::law`].
    fn law(&self, _input: &Meta, _before: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        None
    }
    /// See [`Operator::linearity`].
    fn linearity(&self) -> Linearity {
        Linearity::None
    }
    /// What is computed, of all or of [parts](Operator::lower_part).
    fn form(&self, place: &Place) -> Lowering;
    /// The inputs' gradients from the outputs', made of operators; only asked of differentiable operators.
    fn backward(&self, _ctx: &Backward<'_>) -> Result<Grads> {
        Err(Error::autograd(Self::NAME, "gradient", "requested", "an operator that defines backward"))
    }
}

impl<P: Plain> Operator for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(P::NAME, inputs, P::INPUTS)?;
        Plain::infer(self, inputs)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        Plain::axes(self, inputs)
    }

    fn law(&self, input: &Meta, before: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        Plain::law(self, input, before)
    }

    fn linearity(&self) -> Linearity {
        Plain::linearity(self)
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        Plain::decompose(self, inputs)
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(self.form(&Place::WHOLE))
    }

    fn lower_part(&self, _: &[&Meta], _: &[&Meta], place: &Place) -> Result<Lowering> {
        Ok(self.form(place))
    }

    fn saves(&self) -> Saves {
        P::SAVES
    }

    fn differentiable(&self) -> bool {
        P::DIFFERENTIABLE
    }

    fn differentiable_outputs(&self) -> u32 {
        P::DIFFERENTIABLE_OUTPUTS
    }

    fn overwrites(&self, i: usize) -> bool {
        P::OVERWRITES >> i & 1 == 1
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Plain::backward(self, ctx)
    }
}

/// All outputs of an operator that has as many.
#[track_caller]
pub(crate) fn outputs<const N: usize>(op: &dyn Operator, inputs: &[&Tensor]) -> Result<[Tensor; N]> {
    let mut outputs = dispatch(op, inputs)?.into_iter();
    Ok(std::array::from_fn(|_| outputs.next().expect("as many outputs as inferred")))
}
