use super::{Call, Interpreter, journey};
use crate::autograd::{Versions, check_history, is_grad_enabled, is_view, record};
use crate::operator::{Operator, Tensors};
use crate::{Error, Result, Tensor};

/// Carries calls out with another interpreter and records those whose result needs a gradient.
pub struct Autograd<I> {
    pub(crate) inner: I,
}

impl<I: Interpreter> Interpreter for Autograd<I> {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        if !needs_recording(call) {
            journey::step("autograd", || "nothing to record".into());
            return self.inner.interpret(call);
        }
        call.inputs.iter().try_for_each(|input| check_history(call.op.name(), input))?;
        if let Some(outputs) = call.outputs {
            check_in_place(call.op, outputs)?;
        }
        let versions: Versions = call.inputs.iter().map(|input| input.version()).collect();
        let outputs = self.inner.interpret(call)?;
        record(call, &versions, &outputs);
        journey::step("autograd", || format!("recorded; saves {:?}", call.op.saves()));
        Ok(outputs)
    }
}

fn needs_recording(call: &Call<'_>) -> bool {
    let any = |tensors: &[&Tensor]| tensors.iter().any(|t| t.requires_grad());
    let written = call.outputs.is_some_and(any);
    (written || (call.op.differentiable() && any(call.inputs))) && is_grad_enabled()
}

fn check_in_place(operator: &dyn Operator, outputs: &[&Tensor]) -> Result<()> {
    let op = operator.name();
    for output in outputs.iter().filter(|t| t.requires_grad()) {
        if !operator.differentiable() {
            let accepted = "an operator that has a gradient; change constants under no_grad";
            return Err(Error::autograd(op, "output", "a tensor that needs a gradient, changed in place", accepted));
        }
        if output.is_leaf() {
            let accepted = "a computed tensor; change leaves under no_grad";
            return Err(Error::autograd(op, "output", "a leaf that needs a gradient, changed in place", accepted));
        }
        if is_view(output) {
            let accepted = "the whole tensor, or an operator that returns a changed copy, such as slice_scatter";
            return Err(Error::autograd(op, "output", "a view that needs a gradient, changed in place", accepted));
        }
    }
    Ok(())
}
