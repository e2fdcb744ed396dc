//! How a tensor prints.

use opforge::display::{self, Style};
use opforge::{DType, Tensor};
use opforge_dist::{Distribution, global};
use pyo3::prelude::*;

use super::PyTensor;
use crate::error::OrRaise;
use crate::print::current;

/// What follows the elements: what they do not tell themselves.
fn suffix(tensor: &Tensor) -> String {
    let mut parts = Vec::new();
    if tensor.elem_count() == 0 && tensor.rank() != 1 || tensor.device().is_meta() {
        parts.push(format!("size={:?}", tensor.dims()).replace('[', "(").replace(']', ")"));
    }
    if !tensor.device().is_cpu() && global::placement_of(*tensor.device()).is_none() {
        parts.push(format!("device='{}'", tensor.device()));
    }
    let telling = matches!(tensor.dtype(), DType::F32 | DType::I64 | DType::Bool) && tensor.elem_count() > 0;
    if !telling && tensor.dtype() != DType::F32 {
        parts.push(format!("dtype=opforge.{}", tensor.dtype().long_name()));
    }
    if let Some(grad_fn) = tensor.grad_fn() {
        parts.push(format!("grad_fn=<{}>", grad_fn.name()));
    } else if tensor.requires_grad() {
        parts.push("requires_grad=True".into());
    }
    parts.iter().map(|part| format!(", {part}")).collect()
}

/// What this rank has of a global tensor: other ranks need not print it too.
fn part(py: Python<'_>, tensor: &Tensor, distribution: &Distribution) -> PyResult<String> {
    let own = || {
        let part = opforge::no_grad(|| global::part_of(tensor))?;
        display::text(&part, Style::Python, 7, &current())
    };
    let (text, size) = (py.detach(own).or_raise(py)?, format!("{:?}", tensor.dims()));
    Ok(format!("tensor({text}, part of {size} on {distribution}{})", suffix(tensor)))
}

#[pymethods]
impl PyTensor {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tensor = self.tensor(py);
        if let Some(distribution) = global::distribution_of(&tensor).or_raise(py)? {
            return part(py, &tensor, &distribution);
        }
        let text = py.detach(|| display::text(&tensor, Style::Python, 7, &current())).or_raise(py)?;
        Ok(format!("tensor({text}{})", suffix(&tensor)))
    }
}
