//! What must hold before an operator may write into an existing tensor.

use crate::operator::{Call, Metas, Operator};
use crate::{Error, Result, Tensor};

/// What must hold of a call's given outputs, if it has any: they have the inferred shapes and dtypes, can be written, and share no memory with inputs
/// that the operator does not allow.
///
/// # Errors
/// Where it does not hold.
pub fn check_destination(call: &Call<'_>, inferred: &Metas) -> Result<()> {
    let Some(given) = call.outputs else { return Ok(()) };
    check_metas(call.op.name(), inferred, given)?;
    check_aliases(call.op, call.inputs, given)
}

/// The given outputs have the inferred number, shapes and dtypes.
pub(super) fn check_metas(op: &'static str, inferred: &Metas, given: &[&Tensor]) -> Result<()> {
    if inferred.len() != given.len() {
        return Err(Error::value(op, "out", format!("{} tensors", given.len()), inferred.len()));
    }
    for (inferred, given) in inferred.iter().zip(given) {
        if inferred.shape() != given.shape() {
            return Err(Error::shape(op, "out", format!("{:?}", given.shape()), format!("{:?}", inferred.shape())));
        }
        if inferred.dtype != given.dtype() {
            return Err(Error::dtype(op, "out", given.dtype(), inferred.dtype));
        }
    }
    Ok(())
}

/// The tensor can be written: not read-only, no element twice.
pub(crate) fn check_writable(op: &'static str, argument: &'static str, output: &Tensor) -> Result<()> {
    if output.storage().is_read_only() {
        return Err(Error::value(op, argument, "read-only memory", "writable memory"));
    }
    if output.layout().may_overlap_itself() {
        let given = format!("{:?}", output.layout());
        return Err(Error::value(op, argument, given, "a layout in which no two elements share memory"));
    }
    Ok(())
}

/// The outputs can be written: not read-only, no element twice, and not overlapping an input or each other, unless an input is the very
/// same view and the operator may overwrite it.
pub(super) fn check_aliases(operator: &dyn Operator, inputs: &[&Tensor], outputs: &[&Tensor]) -> Result<()> {
    let op = operator.name();
    for (i, output) in outputs.iter().enumerate() {
        check_writable(op, "out", output)?;
        let allowed = |i: usize, input: &Tensor| {
            input.layout() == output.layout() && input.dtype() == output.dtype() && operator.overwrites(i)
        };
        let inputs = inputs.iter().enumerate().filter(|(i, input)| !allowed(*i, input)).map(|(_, input)| input);
        let others = inputs.chain(&outputs[..i]);
        for other in others {
            if overlap(output, other) {
                let given = format!("{:?} over {:?}", output.layout(), other.layout());
                return Err(Error::value(
                    op,
                    "out",
                    given,
                    "memory that no other argument shares; or, for some operators, the same view",
                ));
            }
        }
    }
    Ok(())
}

fn overlap(a: &Tensor, b: &Tensor) -> bool {
    let bytes = |t: &Tensor| {
        let size = t.dtype().size_in_bytes();
        t.layout().start_offset() * size..t.layout().span() * size
    };
    let (ra, rb) = (bytes(a), bytes(b));
    a.shares_storage(b) && ra.start < rb.end && rb.start < ra.end
}
