//! The interpreter that runs calls here and now.

use std::borrow::Cow;
use std::panic::Location;

use smallvec::{SmallVec, smallvec};

use opforge_runtime::vm::{self, Content};
use opforge_runtime::{Argument, Device, Storage};

use super::cache::{self, Carrier};
use super::{Call, Interpreter, arranged, inplace, journey};
use crate::autograd::no_grad;
use crate::devices;
use crate::operator::Tensors;
use crate::tensor::SharedMeta;
use crate::{Error, Result, Tensor};

/// Runs calls at once on this process's device: infer (cached), make outputs, hand an instruction to the VM.
pub struct EagerLocal;

impl Interpreter for EagerLocal {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        let (device, is_chosen) = check_devices(call)?;
        // Tensors of the CPU meet others in what chooses a device only.
        if (is_chosen || !device.is_cpu())
            && let Some(carried_out) = by_device(call, device)
        {
            return carried_out;
        }
        if let [input] = call.inputs
            && let Some(layout) = call.op.view(input.layout())
        {
            return view(call, input, layout?);
        }
        if let Some(outputs) = call.outputs {
            inplace::check_aliases(call.op, call.inputs, outputs)?;
            if call.op.refuses_elements(call.inputs) {
                return self.write_if_it_succeeds(call, outputs);
            }
        }
        let (plan, hit) = cache::plan(call, device)?;
        journey::step("infer", || {
            let outputs: Vec<String> = plan.outputs.iter().map(|m| format!("{} {:?}", m.dtype, m.layout)).collect();
            format!("{}: {}", if hit { "cached" } else { "computed" }, outputs.join(", "))
        });
        let mut outputs = Tensors::new();
        push_outputs(&mut outputs, call, &plan.outputs, device)?;
        if device == Device::Meta {
            return Ok(outputs);
        }
        let carrier = plan.carrier(call)?;
        journey::step("outputs", || format!("{} bytes, allocated when the kernel runs", bytes(&outputs)));
        let submitted = submit(call, carrier, &outputs);
        if call.outputs.is_some() {
            outputs.iter().for_each(Tensor::bump_version);
        }
        journey::step("vm", || format!("kernel estimated at {} ns", carrier.kernel.duration()));
        submitted.map(|()| outputs)
    }
}

impl EagerLocal {
    /// Computes into new memory, and copies once nothing can fail any more.
    #[cold]
    fn write_if_it_succeeds(&self, call: &Call<'_>, given: &[&Tensor]) -> Result<Tensors> {
        let made = self.interpret(&Call { outputs: None, ..*call })?;
        inplace::check_metas(call.op.name(), &made.iter().map(|t| t.meta().clone()).collect(), given)?;
        if made.iter().all(|t| !t.device().is_meta()) {
            made.iter().try_for_each(|t| vm::wait_for_read(t.storage()))?;
        }
        no_grad(|| made.iter().zip(given).try_for_each(|(made, given)| given.copy_from(made)))?;
        Ok(given.iter().map(|t| (*t).clone()).collect())
    }
}

/// What a device that the call has to do with does by other means than kernels.
#[cold]
fn by_device(call: &Call<'_>, device: Device) -> Option<Result<Tensors>> {
    let all = [device].into_iter().chain(call.inputs.iter().map(|input| *input.device()));
    let added = all.filter(|device| matches!(device, Device::Added(_)));
    added.filter_map(|device| devices::of(device).ok()).find_map(|backend| backend.carry_out(call))
}

/// The tensors to write: those given, or new ones. Pushed one by one, where they stay: that is half of what collecting them costs.
#[inline(always)]
pub(super) fn push_outputs(outputs: &mut Tensors, call: &Call<'_>, metas: &[SharedMeta], device: Device) -> Result<()> {
    match call.outputs {
        Some(given) => given.iter().for_each(|t| outputs.push((*t).clone())),
        None => {
            for meta in metas {
                outputs.push(output(meta, device)?);
            }
        }
    }
    Ok(())
}

#[inline(always)]
pub(super) fn submit(call: &Call<'_>, carrier: &Carrier, outputs: &Tensors) -> Result<()> {
    match &carrier.arranging {
        None => submit_plain(call, carrier, outputs),
        Some(way) => arranged::submit(call, carrier, way, outputs),
    }
}

/// Submits a call with its inputs as they are.
#[inline(always)]
pub(super) fn submit_plain(call: &Call<'_>, carrier: &Carrier, outputs: &Tensors) -> Result<()> {
    let (named, content) = ((call.op.name(), call.at), content(call));
    with_arguments(call.inputs, |inputs| {
        with_arguments(outputs, |outputs| submit_arguments(named, carrier, content, inputs, outputs))
    })
}

/// What a call's outputs held before.
#[inline(always)]
pub(super) fn content(call: &Call<'_>) -> Content {
    if call.outputs.is_some() { Content::Changed } else { Content::New }
}

/// Hands a kernel over to the VM, under a name and the place of the call. The carrier is one of a plan for arguments of these metas.
#[inline(never)]
pub(super) fn submit_arguments(
    (op, at): (&'static str, &'static Location<'static>),
    carrier: &Carrier,
    content: Content,
    inputs: &[Argument<'_>],
    outputs: &[Argument<'_>],
) -> Result<()> {
    let op = Cow::Borrowed(op);
    let Carrier { kernel, part, .. } = carrier;
    let instruction = vm::Call { op: &op, at, kernel, part: part.as_ref(), inputs, outputs, content };
    // SAFETY: the kernel was prepared for the tensors' metas (the plan is keyed by them), and a tensor's layout spans no more than its
    // storage. New outputs share memory with nothing; given ones passed `check_aliases`. An arranged input has the bytes that its kernel names.
    #[allow(unsafe_code)]
    unsafe {
        vm::submit(&instruction)
    }
}

/// The device of the outputs, and whether the operator chooses it; else all tensors are there.
#[inline]
fn check_devices(call: &Call<'_>) -> Result<(Device, bool)> {
    let chosen = call.op.device();
    let inputs = if chosen.is_some() { &[] } else { call.inputs };
    let outputs = call.outputs.unwrap_or_default();
    let Some(device) = chosen.or_else(|| inputs.first().or(outputs.first()).map(|t| *t.device())) else {
        return Err(Error::value(call.op.name(), "inputs", 0, "at least one tensor"));
    };
    let is_elsewhere = |t: &&&Tensor| *t.device() != device;
    match inputs.iter().find(is_elsewhere).or_else(|| outputs.iter().find(is_elsewhere)) {
        None => Ok((device, chosen.is_some())),
        Some(other) => Err(mismatch(call.op.name(), device, *other.device())),
    }
}

/// Added devices have names of their own, which locations do not know.
#[cold]
fn mismatch(op: &'static str, lhs: Device, rhs: Device) -> Error {
    match [lhs, rhs].iter().any(|device| matches!(device, Device::Added(_))) {
        true => Error::devices(op, lhs, rhs),
        false => Error::DeviceMismatchBinaryOp { lhs: lhs.location(), rhs: rhs.location(), op },
    }
}

/// The result of a view: another layout of the input's storage, and the same base in the graph.
///
/// # Errors
/// A layout that reaches beyond the storage.
pub fn view(call: &Call<'_>, input: &Tensor, layout: crate::Layout) -> Result<Tensors> {
    let needed = layout.span().saturating_mul(input.dtype().size_in_bytes());
    if needed > input.storage().nbytes() {
        let accepted = format!("a span within the storage's {} bytes", input.storage().nbytes());
        return Err(Error::index(call.op.name(), "layout", format!("{layout:?}"), accepted));
    }
    journey::step("view", || format!("layout {layout:?}, no kernel"));
    Ok(smallvec![input.with_layout(layout)])
}

fn output(meta: &SharedMeta, device: Device) -> Result<Tensor> {
    let storage = Storage::new(device, meta.elem_count() * meta.dtype.size_in_bytes())?;
    Ok(Tensor::from_parts(meta.clone(), storage))
}

/// Gives `f` the tensors as arguments: for the usual one or two of them, arrays that are built in place.
#[inline]
fn with_arguments<T: AsRef<Tensor>, R>(tensors: &[T], f: impl FnOnce(&[Argument<'_>]) -> R) -> R {
    match tensors {
        [a] => f(&[argument(a.as_ref())]),
        [a, b] => f(&[argument(a.as_ref()), argument(b.as_ref())]),
        _ => f(&tensors.iter().map(|t| argument(t.as_ref())).collect::<SmallVec<[_; 4]>>()),
    }
}

#[inline]
pub(super) fn argument(tensor: &Tensor) -> Argument<'_> {
    Argument::new(tensor.storage(), tensor.layout().start_offset() * tensor.dtype().size_in_bytes())
}

fn bytes(outputs: &Tensors) -> usize {
    outputs.iter().map(|t| t.storage().nbytes()).sum()
}
