//! The interpreter that records calls.

use super::{Call, Interpreter, journey};
use crate::autograd::{Kept, check_write, has_history, is_grad_enabled, record};
use crate::operator::Tensors;
use crate::{Result, Tensor};

/// Carries calls out with another interpreter and records those whose result needs a gradient.
pub struct Autograd<I> {
    /// What carries calls out.
    pub inner: I,
}

impl<I: Interpreter> Interpreter for Autograd<I> {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        if !needs_recording(call) {
            journey::step("autograd", || "nothing to record".into());
            return self.inner.interpret(call);
        }
        call.outputs.unwrap_or_default().iter().try_for_each(|output| check_write(call.op.name(), output))?;
        let kept = Kept::of(call)?;
        let outputs = self.inner.interpret(call)?;
        record(call, kept, &outputs);
        journey::step("autograd", || format!("recorded; saves {:?}", call.op.saves()));
        Ok(outputs)
    }
}

fn needs_recording(call: &Call<'_>) -> bool {
    let reads = |t: &&Tensor| t.requires_grad();
    let writes = |t: &&Tensor| has_history(t);
    let written = call.outputs.is_some_and(|outputs| outputs.iter().any(writes));
    (written || (call.op.differentiable() && call.inputs.iter().any(reads))) && is_grad_enabled()
}
