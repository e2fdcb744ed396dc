//! Writing results into tensors that are there already: `copy_`, in-place forms and `out=`.

use opforge_core::Kind;

use crate::autograd::{check_write, enable_grad, has_history, is_grad_enabled};
use crate::declaration::{Function, Value};
use crate::dispatch::check_writable;
use crate::ops::prelude::*;

functions! { copy_into, copy_number }

/// Replaces the elements of `input` with those of `src`, stretched to its shape and cast to its dtype; returns `input`.
///
/// # Errors
/// For a source that does not broadcast, and for memory that must not be written.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// opforge::functional::copy_into(&x, &Tensor::new(3i64, &Device::Cpu)?, false)?;
/// assert_eq!(x.to_vec1::<f32>()?, [3.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(non_blocking = false)]
#[python(method, name = "copy_")]
pub fn copy_into(input: &Tensor, src: &Tensor, non_blocking: bool) -> Result<Tensor> {
    let _ = non_blocking;
    let source = src.to_dtype(input.dtype())?;
    let source = if source.device() == input.device() { source } else { source.to_device(input.device())? };
    let source = if source.shape() == input.shape() { source } else { source.broadcast_as(input.shape())? };
    let same = source.layout() == input.layout();
    let source = if source.shares_storage(input) && !same { source.copy()? } else { source };
    input.copy_from(&source)?;
    Ok(input.clone())
}

/// Replaces all elements of `input` with a number, cast to its dtype as elements are: integers wrap; returns `input`.
///
/// # Errors
/// For memory that must not be written.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::zeros(2, DType::U8, &Device::Cpu)?;
/// opforge::functional::copy_number(&x, 300i64.into(), false)?;
/// assert_eq!(x.to_vec1::<u8>()?, [44, 44]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(non_blocking = false)]
#[python(method, name = "copy_")]
pub fn copy_number(input: &Tensor, src: Scalar, non_blocking: bool) -> Result<Tensor> {
    let dtype = match src {
        Scalar::Bool(_) => DType::Bool,
        Scalar::Int(_) => DType::I64,
        Scalar::UInt(_) => DType::U64,
        Scalar::Float(_) => DType::F64,
        Scalar::Complex(..) => DType::C128,
    };
    copy_into(input, &Tensor::full_scalar(src, (), dtype, input.device())?, non_blocking)
}

/// Writes the result of `op` into a tensor of its shape, as in-place forms and `out=` do. Dtypes may differ, but not lose their kind.
///
/// # Errors
/// For another shape; for a result of floats into integers and the like.
#[track_caller]
pub fn write_back(op: &'static str, destination: &Tensor, result: &Tensor) -> Result<()> {
    check_write_back(op, destination, result)?;
    copy_into(destination, result, false).map(drop)
}

/// What [`write_back`] refuses, before anything is written.
///
/// # Errors
/// Those of [`write_back`].
pub fn check_write_back(op: &'static str, destination: &Tensor, result: &Tensor) -> Result<()> {
    ensure(result.shape() == destination.shape(), || {
        wrong_shape(op, "out", result.shape(), format!("a result of the destination's shape {:?}", destination.shape()))
    })?;
    check_out(op, destination, result)
}

/// As [`check_write_back`], where the destination takes the result's shape.
///
/// # Errors
/// Other dtypes, and destinations that cannot be written.
pub fn check_out(op: &'static str, destination: &Tensor, result: &Tensor) -> Result<()> {
    check_writable(op, "out", destination)?;
    if result.dtype().kind() > destination.dtype().kind() && destination.dtype().kind() < Kind::Complex {
        let accepted = format!("a dtype that casts to the destination's {}", destination.dtype().long_name());
        return Err(Error::dtype(op, "out", result.dtype().long_name(), accepted));
    }
    Ok(())
}

/// The in-place form of a function: `receiver`, its first argument, takes the elements of the result, or, if it is a view, its layout. Returns
/// the tensor that the receiver is from now on, which only a view changes.
///
/// # Errors
/// The function's; as [`write_back`]; for a leaf that needs a gradient, unless recording is off.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f, registry};
/// let function = registry::functions().into_iter().find(|f| f.name == "neg").unwrap();
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// f::in_place(function, &x, &[x.clone().into()])?;
/// assert_eq!(x.to_vec1::<f32>()?, [-1.0, -2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[track_caller]
pub fn in_place(function: &Function, receiver: &Tensor, values: &[Value]) -> Result<Tensor> {
    let name = function.name;
    if function.view {
        return laid_out_anew(name, receiver, || function.call_one(values, None));
    }
    let result = function.call_into(receiver, values)?;
    if result.id() != receiver.id() {
        write_back(name, receiver, &result)?;
    }
    Ok(receiver.clone())
}

/// A view in its tensor's place. A leaf that may be changed, since recording is off, stays one.
fn laid_out_anew(op: &'static str, receiver: &Tensor, call: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    if is_grad_enabled() && has_history(receiver) {
        check_write(op, receiver)?;
    }
    let view = enable_grad(call)?;
    if view.id() == receiver.id() || !receiver.is_leaf() || !receiver.requires_grad() {
        return Ok(view);
    }
    let leaf = view.detach();
    leaf.set_requires_grad(true)?;
    Ok(leaf)
}
