//! In-place forms of functions: a tensor that the function's operator may write, so that nothing has to be copied.

use std::cell::Cell;

use super::{Call, cache, dispatch_into, dispatch1, inplace};
use crate::autograd::Moment;
use crate::operator::Operator;
use crate::{Device, Error, Result, Tensor};

/// Where the result of a function is meant to go: into a tensor, or `None` for a new one. Whatever has it passes it on to the operator that
/// computes the whole result, after which the function must not read its arguments.
pub type Out<'a> = Option<&'a Destination<'a>>;

/// A tensor that is to take a function's result.
pub struct Destination<'a> {
    tensor: &'a Tensor,
    /// When the function was called.
    since: Moment,
    written: Cell<bool>,
}

/// Calls a function whose result is meant for `tensor`. Where an operator writes there, the function returns `tensor` itself. Otherwise the
/// result is a new tensor, and it is the caller who copies.
///
/// Either way, what gradients of the function's calls read of the tensor's memory is kept in a copy.
///
/// # Errors
/// The function's.
pub fn write_to(tensor: &Tensor, op: &'static str, f: impl FnOnce(Out<'_>) -> Result<Tensor>) -> Result<Tensor> {
    let destination = Destination { tensor, since: Moment::now(), written: Cell::new(false) };
    let result = f(Some(&destination))?;
    if result.id() != tensor.id() {
        if destination.written.get() {
            let accepted = "the result of the function";
            return Err(Error::value(op, "destination", "written with a part of the result", accepted));
        }
        destination.since.preserve(&[&result], tensor)?;
    }
    Ok(result)
}

/// As [`dispatch1`], writing to the destination if shape, dtype and memory allow.
#[inline]
#[track_caller]
pub fn dispatch_to(op: &dyn Operator, inputs: &[&Tensor], out: Out<'_>) -> Result<Tensor> {
    match out {
        Some(destination) if destination.fits(op, inputs) => destination.write(op, inputs),
        _ => dispatch1(op, inputs),
    }
}

impl Destination<'_> {
    /// Whether the operator may write its result there: shape and dtype are those of the result, no argument is overwritten before it is read, and
    /// there is a kernel that writes to such a layout.
    #[track_caller]
    fn fits(&self, op: &dyn Operator, inputs: &[&Tensor]) -> bool {
        let tensor = self.tensor;
        let is_view = matches!(inputs, [input] if op.view(input.layout()).is_some());
        if is_view || inputs.iter().any(|input| input.device() != tensor.device()) {
            return false;
        }
        let call = Call { op, inputs, outputs: Some(&[tensor]), at: std::panic::Location::caller() };
        let writes = |plan: &cache::Plan| tensor.device() == &Device::Meta || plan.carrier(&call).is_ok();
        cache::plan(&call, *tensor.device()).is_ok_and(|(plan, _)| writes(&plan))
            && inplace::check_aliases(op, inputs, &[tensor]).is_ok()
    }

    #[track_caller]
    fn write(&self, op: &dyn Operator, inputs: &[&Tensor]) -> Result<Tensor> {
        self.since.preserve(inputs, self.tensor)?;
        dispatch_into(op, inputs, &[self.tensor])?;
        self.written.set(true);
        Ok(self.tensor.clone())
    }
}
