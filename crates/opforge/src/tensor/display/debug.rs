//! The one-line form, for programmers.

use std::fmt;

use crate::{DType, Tensor};

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
        fn all<T: crate::Element + fmt::Display>(t: &Tensor) -> Vec<String> {
            match crate::no_grad(|| t.elements::<T>()) {
                Ok(elements) => elements.iter().map(T::to_string).collect(),
                Err(error) => vec![format!("<{error}>")],
            }
        }
        match self.dtype() {
            DType::Bool => all::<bool>(self),
            DType::U8 => all::<u8>(self),
            DType::U16 => all::<u16>(self),
            DType::U32 => all::<u32>(self),
            DType::U64 => all::<u64>(self),
            DType::I8 => all::<i8>(self),
            DType::I16 => all::<i16>(self),
            DType::I32 => all::<i32>(self),
            DType::I64 => all::<i64>(self),
            DType::F8E4M3 => all::<crate::F8E4M3>(self),
            DType::F8E5M2 => all::<crate::F8E5M2>(self),
            DType::F16 => all::<crate::f16>(self),
            DType::BF16 => all::<crate::bf16>(self),
            DType::F32 => all::<f32>(self),
            DType::F64 => all::<f64>(self),
            DType::C64 => all::<crate::Complex<f32>>(self),
            DType::C128 => all::<crate::Complex<f64>>(self),
        }
    }
}
