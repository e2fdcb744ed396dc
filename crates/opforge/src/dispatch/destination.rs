//! In-place forms and `out=` of functions: a tensor that the function's own operator may write, so that nothing has to be copied.

use std::cell::{Cell, RefCell};

use super::dispatch_into;
use crate::autograd::Moment;
use crate::operator::Operator;
use crate::{Error, Result, Tensor};

struct Destination {
    op: &'static str,
    tensor: Tensor,
    /// When the function was called.
    since: Moment,
}

thread_local! {
    static DESTINATION: RefCell<Option<Destination>> = const { RefCell::new(None) };
    /// Whether an operator wrote to the last destination.
    static DELIVERED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function whose result is meant for `destination`. If it dispatches an operator of the name `op` with one output, that operator
/// writes there when shape, dtype and memory allow; the function then returns `destination` itself. It must not read its arguments after
/// that operator. Otherwise the result is a new tensor, and it is the caller who copies.
///
/// Either way, what gradients of the function's calls read of the destination's memory is kept in a copy.
///
/// # Errors
/// The function's.
pub fn write_to(destination: &Tensor, op: &'static str, f: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    /// Forgets the destination, also after a panic.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            DESTINATION.set(None);
        }
    }
    let _forget = Forget;
    let since = Moment::now();
    DESTINATION.set(Some(Destination { op, tensor: destination.clone(), since }));
    DELIVERED.set(false);
    let result = f()?;
    if result.id() != destination.id() {
        if DELIVERED.get() {
            let accepted = "the result of the function";
            return Err(Error::value(op, "destination", "written with a part of the result", accepted));
        }
        since.preserve(&[&result], destination)?;
    }
    Ok(result)
}

/// From here on no operator writes to the destination: for compositions of operators that have the function's own name.
pub(crate) fn forget_destination() {
    DESTINATION.set(None);
}

/// Has an operator write to the destination, if it is the one that may and can.
#[inline]
#[track_caller]
pub(super) fn deliver(op: &dyn Operator, inputs: &[&Tensor]) -> Option<Result<Tensor>> {
    let is_it = DESTINATION.with_borrow(|d| d.as_ref().is_some_and(|d| d.op == op.name()));
    if is_it { write(op, inputs) } else { None }
}

#[track_caller]
fn write(op: &dyn Operator, inputs: &[&Tensor]) -> Option<Result<Tensor>> {
    let Destination { tensor, since, .. } = DESTINATION.take()?;
    if let [input] = inputs
        && op.view(input.layout()).is_some()
    {
        return None; // A view has no elements to write.
    }
    since.preserve(inputs, &tensor).ok()?;
    match dispatch_into(op, inputs, &[&tensor]) {
        Ok(()) => DELIVERED.set(true),
        // What a kernel found, it would find again when somebody reads the result.
        Err(error @ Error::Deferred { .. }) => return Some(Err(error)),
        // Whatever else is wrong shows again, and better, when the operator runs without a destination.
        Err(_) => return None,
    }
    Some(Ok(tensor))
}
