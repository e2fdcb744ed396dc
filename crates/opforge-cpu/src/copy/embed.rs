use std::sync::Arc;

use opforge_core::{Error, Layout, Meta, Result, Scalar};
use opforge_runtime::Kernel;

/// Zeros everywhere, then a copy into a part.
struct Embed {
    zero: Arc<dyn Kernel>,
    copy: Arc<dyn Kernel>,
    /// Where the part begins, in bytes from the output's first element.
    start: usize,
}

/// Writes zeros to the output, and over them the input at `place`, a layout within the output's span (its offset counts from the output's
/// first element) that does not overlap itself.
///
/// # Errors
/// When input and place differ in shape, input and output in dtype, or the place reaches beyond the output.
pub fn embed(op: &'static str, input: &Meta, place: &Layout, output: &Meta) -> Result<Arc<dyn Kernel>> {
    let span = output.layout.span() - output.layout.start_offset();
    if place.span() > span || place.may_overlap_itself() {
        let accepted = format!("distinct places within {span} elements");
        return Err(Error::shape(op, "place", format!("{place:?}"), accepted));
    }
    let target = Meta { dtype: output.dtype, layout: place.clone() };
    Ok(Arc::new(Embed {
        zero: crate::elementwise::fill(op, Scalar::Int(0), output)?,
        copy: super::copy(op, input, &target)?,
        start: place.start_offset() * output.dtype.size_in_bytes(),
    }))
}

impl Kernel for Embed {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        // SAFETY: the caller's, for the whole output; the place lies within it, as the constructor checked.
        unsafe {
            self.zero.run(&[], outputs)?;
            self.copy.run(inputs, &[outputs[0].add(self.start)])
        }
    }

    fn cost(&self) -> u64 {
        self.zero.cost() + self.copy.cost()
    }
}
