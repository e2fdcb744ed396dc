//! The gradient of a custom operator: by another operator, or by a function.

use std::sync::Arc;

use opforge::autograd::Backward;
use opforge::operator::Grads;
use opforge::{Error, Result, Tensor};

use super::CustomOp;
use super::call::Bound;
use crate::attribute::Attributes;

/// How the gradients of an operator's inputs follow.
#[derive(Clone)]
pub enum Gradient {
    /// A function that gives a gradient, or `None`, for each input. Made of opforge's operators, it can be differentiated again.
    Function(Arc<GradientFunction>),
    /// An operator of inputs, outputs and the outputs' gradients, in this order, whose outputs are the inputs' gradients. It gets this
    /// operator's attributes where its own schema names them.
    Op(CustomOp),
}

type GradientFunction = dyn Fn(&GradientContext<'_>) -> Result<Vec<Option<Tensor>>> + Send + Sync;

/// What a gradient is made of.
pub struct GradientContext<'a> {
    /// The inputs of the call.
    pub inputs: &'a [Tensor],
    /// The outputs of the call.
    pub outputs: &'a [Tensor],
    /// The outputs' gradients, zeros where nothing depended on one.
    pub grads: &'a [Tensor],
    /// The attributes of the call.
    pub attributes: &'a Attributes,
    /// Whether each input's gradient is wanted; others may be `None`.
    pub needs: &'a [bool],
}

pub(super) fn backward(bound: &Bound, ctx: &Backward<'_>) -> Result<Grads> {
    let spec = &bound.spec;
    let Some(gradient) = &spec.gradient else {
        return Err(Error::autograd(spec.name, "gradient", "requested", "a custom operator with a declared gradient"));
    };
    let outputs = ctx.output_count();
    let inputs = (0..ctx.input_count()).map(|i| ctx.input(i)).collect::<Result<Vec<_>>>()?;
    let grads = (0..outputs).map(|i| ctx.grad(i)).collect::<Result<Vec<_>>>()?;
    let outputs = (0..outputs).map(|i| ctx.output(i)).collect::<Result<Vec<_>>>()?;
    let needs: Vec<bool> = (0..inputs.len()).map(|i| ctx.needs(i)).collect();
    let attributes = &bound.attributes;
    let context = GradientContext { inputs: &inputs, outputs: &outputs, grads: &grads, attributes, needs: &needs };
    let found = match gradient {
        Gradient::Function(function) => function(&context)?,
        Gradient::Op(op) => by_operator(op, &context)?,
    };
    check(bound, &inputs, found)
}

fn by_operator(op: &CustomOp, context: &GradientContext<'_>) -> Result<Vec<Option<Tensor>>> {
    let tensors: Vec<&Tensor> = [context.inputs, context.outputs, context.grads].into_iter().flatten().collect();
    let knows = |name: &str| op.schema().is_some_and(|schema| schema.attributes().any(|(own, ..)| own == name));
    let attributes: Vec<_> = context.attributes.values().iter().filter(|(name, _)| knows(name)).cloned().collect();
    let found = op.clone().outputs(context.inputs.len()).apply_with(&tensors, &attributes)?;
    Ok(found.into_iter().map(Some).collect())
}

/// The gradients have the inputs' number, shapes and devices.
fn check(bound: &Bound, inputs: &[Tensor], found: Vec<Option<Tensor>>) -> Result<Grads> {
    let spec = &bound.spec;
    if found.len() != inputs.len() {
        let message = format_args!("its gradient gave {} tensors for {} inputs", found.len(), inputs.len());
        return Err(spec.place.fault(message));
    }
    let checked = |(i, (grad, input)): (usize, (Option<Tensor>, &Tensor))| {
        let Some(grad) = grad.filter(|_| input.dtype().is_differentiable()) else {
            return Ok(None);
        };
        if grad.shape() != input.shape() {
            let (given, accepted) = (format!("{:?}", grad.shape()), format!("{:?}", input.shape()));
            return Err(Error::shape(spec.name, format!("gradient of {}", spec.input_name(i)), given, accepted));
        }
        if grad.dtype() == input.dtype() { Ok(Some(grad)) } else { grad.to_dtype(input.dtype()).map(Some) }
    };
    found.into_iter().zip(inputs).enumerate().map(checked).collect()
}
