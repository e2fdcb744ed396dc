//! Operators on parts of their inputs.

use smallvec::SmallVec;

use super::cache::{Plan, are_like};
use super::local::{push_outputs, submit};
use crate::operator::{Call, Place, Tensors};
use crate::tensor::SharedMeta;
use crate::{Device, Error, Meta, Result, Tensor};

/// An operator that was prepared for parts of its inputs: what its lowering computes of these, whatever [`infer`](crate::operator::Operator::infer) would say of them.
///
/// ```
/// use opforge::dispatch::Prepared;
/// use opforge::operator::Call;
/// use opforge::ops::create::full::Full;
/// use opforge::{DType, Device, Meta, Scalar};
///
/// let whole = Full { value: Scalar::Float(1.5), shape: 4.into(), dtype: DType::F32, device: Device::Cpu };
/// let call = Call { op: &whole, inputs: &[], outputs: None, at: std::panic::Location::caller() };
/// let half = Prepared::new(&call, &[&Meta::contiguous(DType::F32, 2)])?;
/// assert_eq!(half.run(&call)?[0].to_vec1::<f32>()?, [1.5, 1.5]);
/// # Ok::<(), opforge::Error>(())
/// ```
pub struct Prepared {
    inputs: SmallVec<[SharedMeta; 2]>,
    plan: Plan,
}

impl Prepared {
    /// Prepares a call's operator for its inputs, which are in main memory, and for outputs of these metas.
    ///
    /// # Errors
    /// Those of [`Operator::lower`](crate::operator::Operator::lower) and of the kernel's preparation.
    pub fn new(call: &Call<'_>, outputs: &[&Meta]) -> Result<Self> {
        Self::of_parts(call, outputs, None)
    }

    /// As [`Prepared::new`], of parts that lie there in the whole.
    ///
    /// # Errors
    /// As [`Prepared::new`], of [`Operator::lower_part`](crate::operator::Operator::lower_part).
    pub fn of_parts(call: &Call<'_>, outputs: &[&Meta], place: Option<&Place>) -> Result<Self> {
        let plan = Plan::of_outputs(outputs, Device::Cpu);
        plan.prepare(call, place)?;
        Ok(Prepared { inputs: call.inputs.iter().map(|input| input.shared_meta().clone()).collect(), plan })
    }

    /// Whether it is for inputs of these dtypes, shapes and strides.
    pub fn takes(&self, inputs: &[&Tensor]) -> bool {
        are_like(&self.inputs, inputs)
    }

    /// Carries out a call of the same operator on inputs that this [takes](Prepared::takes), into new tensors or those that the call gives, whose aliases
    /// have been checked.
    ///
    /// # Errors
    /// Other inputs and outputs, memory that cannot be had, and what the kernel finds if it runs at once.
    pub fn run(&self, call: &Call<'_>) -> Result<Tensors> {
        if !self.takes(call.inputs) || call.outputs.is_some_and(|given| !are_like(&self.plan.outputs, given)) {
            return Err(Error::value(call.op.name(), "inputs", "others", "inputs like those it was prepared for"));
        }
        let mut outputs = Tensors::new();
        push_outputs(&mut outputs, call, &self.plan.outputs, Device::Cpu)?;
        submit(call, self.plan.carrier(call)?, &outputs)?;
        if call.outputs.is_some() {
            outputs.iter().for_each(Tensor::bump_version);
        }
        Ok(outputs)
    }
}
