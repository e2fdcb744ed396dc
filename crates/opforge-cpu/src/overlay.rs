//! Tensors filled with zeros, or with the elements of another tensor, over which a third one is written in a part: padding and `slice_scatter`.

use std::sync::Arc;

use opforge_core::{Error, Layout, Meta, Result, Scalar};
use opforge_runtime::HostKernel;

/// A number or another tensor's elements everywhere, then a copy into a part.
struct Embed {
    base: Arc<dyn HostKernel>,
    /// How many of the inputs are the base's.
    base_inputs: usize,
    copy: Arc<dyn HostKernel>,
    /// Where the part begins, in bytes from the output's first element.
    start: usize,
}

/// Writes zeros to the output, and over them the input at `place`, a layout within the output's span (its offset counts from the output's
/// first element) that does not overlap itself.
///
/// # Errors
/// When input and place differ in shape, input and output in dtype, or the place reaches beyond the output.
pub fn embed(op: &'static str, input: &Meta, place: &Layout, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let zero = crate::elementwise::fill(op, Scalar::Int(0), output)?;
    over(op, zero, 0, input, place, output)
}

/// As [`embed`] with the elements of `base`, the first input, in place of zeros. The output may be the base itself.
///
/// # Errors
/// As [`embed`].
pub fn overlay(
    op: &'static str,
    base: &Meta,
    input: &Meta,
    place: &Layout,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    over(op, crate::copy::copy(op, base, output)?, 1, input, place, output)
}

fn over(
    op: &'static str,
    base: Arc<dyn HostKernel>,
    base_inputs: usize,
    input: &Meta,
    place: &Layout,
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let span = output.layout.span() - output.layout.start_offset();
    if place.span() > span || place.may_overlap_itself() {
        let accepted = format!("distinct places within {span} elements");
        return Err(Error::shape(op, "place", format!("{place:?}"), accepted));
    }
    let target = Meta { dtype: output.dtype, layout: place.clone() };
    Ok(Arc::new(Embed {
        base,
        base_inputs,
        copy: crate::copy::copy(op, input, &target)?,
        start: place.start_offset() * output.dtype.size_in_bytes(),
    }))
}

impl HostKernel for Embed {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: base and part are the tensors their kernels were made for; the place lies within the output, as the constructor checked.
        unsafe {
            let (base, part) = inputs.split_at(self.base_inputs);
            if base.first() != Some(&outputs[0].cast_const()) {
                self.base.run(base, outputs)?;
            }
            self.copy.run(part, &[outputs[0].add(self.start)])
        }
    }

    fn cost(&self) -> u64 {
        self.base.cost() + self.copy.cost()
    }
}
