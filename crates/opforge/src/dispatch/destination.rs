//! In-place forms and `out=` of functions: a tensor that the function's own operator may write, so that nothing has to be copied.

use std::cell::RefCell;

use super::dispatch_into;
use crate::operator::Operator;
use crate::{Result, Tensor};

thread_local! {
    static DESTINATION: RefCell<Option<(&'static str, Tensor)>> = const { RefCell::new(None) };
}

/// Calls a function whose result is meant for `destination`. If it dispatches an operator of the name `op` with one output, that operator
/// writes there when shape, dtype and memory allow; the function then returns `destination` itself. It must not read its arguments after
/// that operator. Otherwise the result is a new tensor, and it is the caller who copies.
///
/// # Errors
/// The function's.
pub fn write_to<R>(destination: &Tensor, op: &'static str, f: impl FnOnce() -> Result<R>) -> Result<R> {
    /// Forgets the destination, also after a panic.
    struct Forget;
    impl Drop for Forget {
        fn drop(&mut self) {
            DESTINATION.set(None);
        }
    }
    let _forget = Forget;
    DESTINATION.set(Some((op, destination.clone())));
    f()
}

/// Has an operator write to the destination, if it is the one that may and can.
#[inline]
#[track_caller]
pub(super) fn deliver(op: &dyn Operator, inputs: &[&Tensor]) -> Option<Tensor> {
    let is_it = DESTINATION.with_borrow(|d| d.as_ref().is_some_and(|(name, _)| *name == op.name()));
    if is_it { write(op, inputs) } else { None }
}

#[track_caller]
fn write(op: &dyn Operator, inputs: &[&Tensor]) -> Option<Tensor> {
    let (_, destination) = DESTINATION.take()?;
    // Whatever is wrong shows again, and better, when the operator runs without a destination.
    dispatch_into(op, inputs, &[&destination]).ok().map(|()| destination)
}
