use super::{Call, Interpreter, journey};
use crate::autograd::{Before, is_grad_enabled, record};
use crate::operator::Tensors;
use crate::{Error, Result};

/// Carries calls out with another interpreter and records those whose result needs a gradient.
pub struct Autograd<I> {
    pub(crate) inner: I,
}

impl<I: Interpreter> Interpreter for Autograd<I> {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        if let Some(outputs) = call.outputs
            && is_grad_enabled()
        {
            check_in_place(call.op.name(), outputs)?;
        }
        if !needs_recording(call) {
            journey::step("autograd", || "nothing to record".into());
            let outputs = self.inner.interpret(call);
            call.outputs.unwrap_or_default().iter().for_each(|t| written_unrecorded(t));
            return outputs;
        }
        let before = Before::of(call.op.name(), call.inputs)?;
        let outputs = self.inner.interpret(call)?;
        record(call.op, call.inputs, before, &outputs, call.at);
        journey::step("autograd", || format!("recorded, {:?}", call.op.saves()));
        Ok(outputs)
    }
}

fn needs_recording(call: &Call<'_>) -> bool {
    let any = |tensors: &[&crate::Tensor]| tensors.iter().any(|t| t.requires_grad());
    (any(call.inputs) || call.outputs.is_some_and(any)) && is_grad_enabled() && call.op.differentiable()
}

/// Without recording, new elements take the place of a computed tensor's, as if it had given them; after an operator without a gradient it is
/// a constant.
fn written_unrecorded(output: &crate::Tensor) {
    if output.requires_grad() {
        let edge = output.slot().edge().filter(|_| !is_grad_enabled());
        output.slot().set(edge, output.version());
    }
}

fn check_in_place(op: &'static str, outputs: &[&crate::Tensor]) -> Result<()> {
    for output in outputs {
        if output.requires_grad() && output.is_leaf() {
            let accepted = "a computed tensor; change leaves under no_grad";
            return Err(Error::autograd(op, "output", "a leaf that needs a gradient, changed in place", accepted));
        }
    }
    Ok(())
}
