//! The one-line form, for programmers.

use std::fmt;

use opforge_core::with_element;

use crate::Tensor;

/// Vectors up to this length show their elements in `Debug`.
const DEBUG_ELEMENTS: usize = 10;

impl fmt::Debug for Tensor {
    /// `Tensor[dims 2, 3; f32]`; scalars and short vectors show their elements: `Tensor[1, 2; u32]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims().iter().map(usize::to_string).collect();
        let device = if self.device().is_cpu() { String::new() } else { format!(", {}", self.device()) };
        let short = self.device().is_cpu() && self.rank() <= 1 && self.elem_count() < DEBUG_ELEMENTS;
        let shown = if short { self.texts().join(", ") } else { format!("dims {}", dims.join(", ")) };
        write!(f, "Tensor[{shown}; {}{device}]", self.dtype())
    }
}

impl Tensor {
    /// Each element's plain text, or what went wrong.
    fn texts(&self) -> Vec<String> {
        with_element!(self.dtype(), T => match crate::no_grad(|| self.elements::<T>()) {
            Ok(elements) => elements.iter().map(T::to_string).collect(),
            Err(error) => vec![format!("<{error}>")],
        })
    }
}
