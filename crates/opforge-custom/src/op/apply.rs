//! Calling an operator.

use std::panic::Location;

use opforge::dispatch::{self, Autograd, Interpreter, dispatch, dispatch_into};
use opforge::operator::{Operator, Tensors};
use opforge::tracer::is_traced;
use opforge::{DType, Device, Error, Meta, Result, Tensor};
use smallvec::SmallVec;

use super::call::{Bound, Call};
use super::{Body, CustomOp, Function, Lengths, ShapeRule};
use crate::attribute::Attribute;

impl CustomOp {
    /// Calls an operator that has one output.
    ///
    /// # Errors
    /// What the declaration refuses; what the library's functions return or throw; an operator that has not one output.
    #[track_caller]
    pub fn apply(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let mut outputs = self.run(self.declared()?, inputs)?;
        if outputs.len() != 1 {
            let given = format!("{} of them", outputs.len());
            return Err(Error::value(self.name(), "outputs", given, "one; apply_all gives several"));
        }
        Ok(outputs.swap_remove(0))
    }

    /// Calls an operator of any number of outputs.
    ///
    /// # Errors
    /// As [`CustomOp::apply`].
    #[track_caller]
    pub fn apply_all(&self, inputs: &[&Tensor]) -> Result<Tensors> {
        self.run(self.declared()?, inputs)
    }

    /// Calls an operator with further attributes, which win over declared ones.
    ///
    /// # Errors
    /// As [`CustomOp::apply`]; attributes that the schema does not have.
    #[track_caller]
    pub fn apply_with(&self, inputs: &[&Tensor], attributes: &[(String, Attribute)]) -> Result<Tensors> {
        self.run(&self.with(attributes)?, inputs)
    }

    /// The shapes and dtypes of the outputs for inputs whose shapes may be known in part: -1 is a length and a single -2 a rank that is not known.
    ///
    /// # Errors
    /// As [`CustomOp::apply`].
    pub fn infer(
        &self,
        inputs: &[(Lengths, DType)],
        attributes: &[(String, Attribute)],
    ) -> Result<Vec<(Lengths, DType)>> {
        let (shapes, dtypes): (Vec<_>, Vec<_>) = inputs.iter().cloned().unzip();
        self.with(attributes)?.0.infer_outputs(&shapes, &dtypes)
    }

    #[track_caller]
    fn run(&self, call: &Call, inputs: &[&Tensor]) -> Result<Tensors> {
        if let Body::Function { traced, .. } = self.spec.body
            && (traced || !call.0.can_be_written_down(inputs))
        {
            return on_host(call, inputs);
        }
        if !self.spec.is_for_cuda() {
            return if self.spec.changes.any() { self.in_place(call, inputs) } else { dispatch(call, inputs) };
        }
        let dense = self.on_cuda(inputs)?;
        let inputs: SmallVec<[&Tensor; 4]> = dense.iter().collect();
        if self.spec.changes.any() { self.in_place(call, &inputs) } else { dispatch(call, &inputs) }
    }

    /// The inputs as functions on a GPU take them: there, and contiguous.
    fn on_cuda(&self, inputs: &[&Tensor]) -> Result<Tensors> {
        let elsewhere = |input: &&&Tensor| !input.device().is_cuda() && !input.device().is_meta();
        if let Some(input) = inputs.iter().find(elsewhere) {
            let given = if input.device().is_cpu() { "the CPU".to_owned() } else { input.device().to_string() };
            let message = format_args!("is made for NVIDIA GPUs, and tensors on {given} were given");
            return Err(self.spec.place.fault(message));
        }
        let dense = |(i, input): (usize, &&Tensor)| match self.spec.changes.input(i) && !input.is_contiguous() {
            true => {
                Err(Error::value(self.name(), "input", "a strided tensor", "contiguous tensors to be changed on a GPU"))
            }
            false => input.contiguous(),
        };
        inputs.iter().enumerate().map(dense).collect()
    }

    /// Calls an operator that changes some of its inputs: they are outputs for the VM.
    #[track_caller]
    fn in_place(&self, call: &Call, inputs: &[&Tensor]) -> Result<Tensors> {
        let mut outputs = self.outputs_in_place(call, inputs)?;
        dispatch_into(call, inputs, &outputs.iter().collect::<SmallVec<[_; 4]>>())?;
        outputs.truncate(outputs.len() - self.spec.changes.only.len());
        Ok(outputs)
    }

    /// The inputs that are outputs, and new tensors for the others.
    fn outputs_in_place(&self, call: &Call, inputs: &[&Tensor]) -> Result<Tensors> {
        let changes = &self.spec.changes;
        if let Some(outputs) = changes.are_all_outputs() {
            call.0.check_count(inputs.len())?;
            return Ok(outputs.map(|i| inputs[i].clone()).collect());
        }
        let metas: Vec<&Meta> = inputs.iter().map(|input| input.meta()).collect();
        let inferred = call.infer(&metas)?;
        let device = inputs.first().map_or(Device::Cpu, |input| *input.device());
        let output = |(meta, alias): (&Meta, Option<usize>)| match alias {
            Some(input) => Ok(inputs[input].clone()),
            None => Tensor::zeros(meta.shape(), meta.dtype, &device),
        };
        let aliases = changes.aliases(inferred.len() - changes.only.len());
        inferred.iter().zip(aliases).map(output).collect()
    }
}

/// Runs an operator that is a function of tensors, and records it as one step.
#[track_caller]
fn on_host(call: &Call, inputs: &[&Tensor]) -> Result<Tensors> {
    let at = Location::caller();
    Autograd { inner: OnHost }.interpret(&dispatch::Call { op: call, inputs, outputs: None, at })
}

/// Runs functions of tensors on the calling thread.
struct OnHost;

impl Interpreter for OnHost {
    fn interpret(&self, call: &dispatch::Call<'_>) -> Result<Tensors> {
        let bound = call.op.as_any().downcast_ref::<Call>().map(|call| &call.0);
        let Some((bound, function)) = bound.and_then(|bound| Some((bound, function(bound, call.inputs)?))) else {
            let accepted = "tensors with elements, or an operator with a function for those without";
            return Err(Error::value(call.op.name(), "inputs", "on the device meta", accepted));
        };
        let inputs: Vec<Tensor> = call.inputs.iter().map(|input| input.detach()).collect();
        let outputs = bound.outputs_of(function, &inputs)?;
        outputs.into_iter().enumerate().map(|(i, output)| own(bound, call.inputs, i, output)).collect()
    }
}

fn function<'a>(bound: &'a Bound, inputs: &[&Tensor]) -> Option<&'a Function> {
    let Body::Function { run, fake, .. } = &bound.spec.body else { return None };
    let is_meta = inputs.iter().any(|input| *input.device() == Device::Meta);
    if is_meta { fake.as_deref() } else { Some(&**run) }
}

impl Bound {
    /// Whether a function on these tensors is to be a call in the graph that this thread traces: its outputs must be known without it.
    fn can_be_written_down(&self, inputs: &[&Tensor]) -> bool {
        let has_rule = !matches!(self.spec.shapes, ShapeRule::Library) || self.spec.changes.are_all_outputs().is_some();
        let are_known = has_rule || matches!(self.spec.body, Body::Function { fake: Some(_), .. });
        is_traced() && are_known && !inputs.iter().any(|input| input.device().is_meta())
    }

    /// What a function of the operator's gives.
    pub(super) fn outputs_of(&self, function: &Function, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let outputs = opforge::no_grad(|| function(inputs, &self.attributes))?;
        if let Some(count) = self.spec.output_count().filter(|&count| count != outputs.len()) {
            let message = format_args!("gave {} outputs where {count} are declared", outputs.len());
            return Err(self.spec.place.fault(message));
        }
        Ok(outputs)
    }
}

/// An output with a place of its own in the graph: a declared alias is the input itself, any other view of an input is copied.
fn own(bound: &Bound, inputs: &[&Tensor], i: usize, output: Tensor) -> Result<Tensor> {
    match bound.spec.changes.alias(i) {
        Some(input) => Ok(inputs[input].clone()),
        None if inputs.iter().any(|input| input.shares_storage(&output)) => output.copy(),
        None => Ok(output.detach()),
    }
}
