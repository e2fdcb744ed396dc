use smallvec::SmallVec;

use super::{Call, Interpreter, journey};
use crate::autograd::{is_grad_enabled, record};
use crate::operator::Tensors;
use crate::{Error, Result};

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
        if let Some(outputs) = call.outputs {
            check_in_place(call.op.name(), outputs)?;
        }
        // What backward needs of the inputs is how they are now: the call may write over them.
        let versions: SmallVec<[u64; 4]> = call.inputs.iter().map(|t| t.version()).collect();
        let outputs = self.inner.interpret(call)?;
        record(call.op, call.inputs, &versions, &outputs, call.at);
        journey::step("autograd", || format!("recorded, {:?}", call.op.saves()));
        Ok(outputs)
    }
}

fn needs_recording(call: &Call<'_>) -> bool {
    let any = |tensors: &[&crate::Tensor]| tensors.iter().any(|t| t.requires_grad());
    (any(call.inputs) || call.outputs.is_some_and(any)) && is_grad_enabled() && call.op.differentiable()
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
