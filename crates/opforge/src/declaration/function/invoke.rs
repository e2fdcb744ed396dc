//! Calls with dynamic values, whose results have memory of their own.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Function, Value};
use crate::dispatch::{Out, check_writable, write_to};
use crate::{Error, Result, Tensor};

static SHARED: AtomicU64 = AtomicU64::new(0);

/// How many results [`Function::invoke`] has copied so far, since their functions returned shared memory without declaring it. Tests
/// expect none.
pub fn shared_results() -> u64 {
    SHARED.load(Ordering::Relaxed)
}

impl Function {
    /// Whether a result may share memory with an argument: of views, and of functions that write in place, which return what they wrote into.
    pub fn may_share(&self) -> bool {
        self.view || self.python_name().ends_with('_')
    }

    /// Calls it with one value a parameter. A result that shares memory with an argument, or whose elements share memory with each other,
    /// comes back as a copy, unless the function may share.
    ///
    /// # Errors
    /// The function's.
    #[inline]
    pub fn invoke(&self, values: &[Value]) -> Result<Value> {
        let result = self.call.call(values, None)?;
        if self.view || !result.tensors().any(|t| is_shared(t, values)) || self.may_share() {
            return Ok(result);
        }
        result.apart_from(values)
    }

    /// As [`Function::invoke`], of a function that makes one tensor of others: the result is `destination` itself where an operator could write there.
    ///
    /// # Errors
    /// The function's; for a destination that must not be written, and for a function that makes something else.
    #[track_caller]
    pub fn invoke_into(&self, destination: &Tensor, values: &[Value]) -> Result<Value> {
        let result = self.call_into(destination, values)?;
        let is_written = result.id() == destination.id();
        if is_written || self.view { Ok(result.into()) } else { Value::from(result).apart_from(values) }
    }

    /// As [`Function::invoke_into`], but for a result elsewhere, which may share memory with an argument.
    #[track_caller]
    pub(crate) fn call_into(&self, destination: &Tensor, values: &[Value]) -> Result<Tensor> {
        check_writable(self.name, "out", destination)?;
        write_to(destination, self.name, |out| self.call_one(values, out))
    }

    /// The one tensor that the function makes.
    #[track_caller]
    pub(crate) fn call_one(&self, values: &[Value], out: Out<'_>) -> Result<Tensor> {
        match self.call.call(values, out)? {
            Value::Tensor(result) => Ok(result),
            _ => Err(Error::value(self.name, "result", "not one tensor", "one tensor")),
        }
    }
}

/// Whether a tensor shares memory with an argument, or has elements that share it.
#[inline]
fn is_shared(tensor: &Tensor, arguments: &[Value]) -> bool {
    let shares = |argument: &Tensor| tensor.shares_storage(argument);
    arguments.iter().flat_map(Value::tensors).any(shares) || tensor.layout().may_overlap_itself()
}

impl Value {
    /// The tensors that it consists of.
    #[inline]
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let (one, many, some): (_, &[Tensor], &[Option<Tensor>]) = match self {
            Value::Tensor(tensor) => (Some(tensor), &[], &[]),
            Value::Tensors(tensors) => (None, tensors, &[]),
            Value::OptionalTensors(tensors) => (None, &[], tensors),
            _ => (None, &[], &[]),
        };
        one.into_iter().chain(many).chain(some.iter().flatten())
    }

    #[cold]
    fn apart_from(self, arguments: &[Value]) -> Result<Value> {
        let apart = |t: Tensor| {
            if !is_shared(&t, arguments) {
                return Ok(t);
            }
            SHARED.fetch_add(1, Ordering::Relaxed);
            t.copy()
        };
        Ok(match self {
            Value::Tensor(t) => Value::Tensor(apart(t)?),
            Value::Tensors(all) => Value::Tensors(all.into_iter().map(apart).collect::<Result<_>>()?),
            Value::OptionalTensors(all) => {
                Value::OptionalTensors(all.into_iter().map(|t| t.map(apart).transpose()).collect::<Result<_>>()?)
            }
            other => other,
        })
    }
}
