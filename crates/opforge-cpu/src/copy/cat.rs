//! Concatenation and stacking: tensors copied one after the other.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result};
use opforge_runtime::HostKernel;

use super::{Plan, check_output};

struct Cat {
    /// Each input's copy and where in the output it goes, in bytes.
    parts: Vec<(Plan, usize)>,
}

impl HostKernel for Cat {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        for ((plan, offset), &input) in self.parts.iter().zip(inputs) {
            // SAFETY: the part lies within the output's layout.
            unsafe { plan.run(input, outputs[0].add(*offset)) };
        }
        Ok(())
    }

    fn cost(&self) -> u64 {
        self.parts.iter().map(|(plan, _)| plan.cost()).sum()
    }
}

/// The kernel that joins its inputs along `axis`: the output's length there is the sum of theirs, all other lengths are equal.
///
/// # Errors
/// Shape or dtype mismatch; an axis beyond the rank; an output that overlaps itself.
pub fn cat(op: &'static str, inputs: &[&Meta], axis: usize, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let mut parts = Vec::with_capacity(inputs.len());
    let mut start = 0;
    for input in inputs {
        check_output(op, input, output)?;
        let fits = input.rank() == output.rank()
            && axis < output.rank()
            && input.dims().iter().zip(output.dims()).enumerate().all(|(d, (a, b))| d == axis || a == b);
        if !fits {
            return Err(Error::shapes(
                op,
                input.shape(),
                output.shape(),
                format!("equal lengths but along dim {axis}"),
            ));
        }
        let len = input.dims()[axis];
        let layout = output.layout.narrow(axis, start, len)?;
        let offset = (layout.start_offset() - output.layout.start_offset()) * output.dtype.size_in_bytes();
        parts.push((Plan::new(input, &Meta { dtype: output.dtype, layout }, &[]), offset));
        start += len;
    }
    if output.dims().get(axis) != Some(&start) {
        return Err(Error::shape(
            op,
            "output",
            format!("{:?}", output.shape()),
            format!("length {start} in dim {axis}"),
        ));
    }
    Ok(Arc::new(Cat { parts }))
}
