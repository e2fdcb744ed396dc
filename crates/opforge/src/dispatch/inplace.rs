//! What must hold before an operator may write into an existing tensor.

use crate::operator::Metas;
use crate::{Error, Result, Tensor};

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

/// The outputs can be written: not read-only, no element twice, and not overlapping an input or each other, unless an input is the very
/// same view.
pub(super) fn check_aliases(op: &'static str, inputs: &[&Tensor], outputs: &[&Tensor]) -> Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        if output.storage().is_read_only() {
            return Err(Error::value(op, "out", "read-only memory", "writable memory"));
        }
        if output.layout().may_overlap_itself() {
            let given = format!("{:?}", output.layout());
            return Err(Error::value(op, "out", given, "a layout in which no two elements share memory"));
        }
        let same_view = |input: &Tensor| input.layout() == output.layout() && input.dtype() == output.dtype();
        let others = inputs.iter().filter(|input| !same_view(input)).chain(&outputs[..i]);
        for other in others {
            if overlap(output, other) {
                let given = format!("{:?} over {:?}", output.layout(), other.layout());
                return Err(Error::value(op, "out", given, "memory that no other argument shares, or the same view"));
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
