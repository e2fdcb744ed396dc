//! Nested sequences of numbers, walked once for their shape and elements.

use opforge::{DType, Scalar, Tensor};
use opforge_core::MAX_RANK;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{Borrowed, ffi};

use super::elements::Elements;
use super::fault::Fault;
use super::{array_like, is_array_like};
use crate::binding;
use crate::tensor::PyTensor;

/// A walk through nested sequences of numbers, in one pass: the first branch tells the shape, which all others must have.
pub struct Walk {
    elements: Elements,
    shape: Vec<usize>,
    /// Whether the shape is complete.
    leaf_seen: bool,
}

const NUMBERS: &str = "numbers, and sequences of them";

impl Walk {
    /// A walk through all of `data`.
    pub fn through(data: &Bound<'_, PyAny>, dtype: Option<DType>) -> Result<Self, Fault> {
        let mut walk = Walk { elements: Elements::new(dtype), shape: Vec::new(), leaf_seen: false };
        walk.visit(data.as_borrowed(), 0)?;
        Ok(walk)
    }

    /// The tensor of what was seen.
    pub fn into_tensor(self, default: DType) -> Result<Tensor, Fault> {
        self.elements.into_tensor(&self.shape, default)
    }

    #[inline]
    fn visit(&mut self, object: Borrowed<'_, '_, PyAny>, depth: usize) -> Result<(), Fault> {
        if object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>() {
            return self.number(object, depth);
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.items(list.len(), depth, |i| list.get_item(i));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.items(tuple.len(), depth, |i| tuple.get_item(i));
        }
        self.visit_other(object, depth)
    }

    fn visit_other(&mut self, object: Borrowed<'_, '_, PyAny>, depth: usize) -> Result<(), Fault> {
        let object = &*object;
        if let Some(number) = binding::scalar(object.as_borrowed()) {
            return self.leaf(number, own_dtype(object, number), depth);
        }
        if object.cast::<PyInt>().is_ok() {
            return self.number(object.as_borrowed(), depth);
        }
        if let Ok(tensor) = object.cast::<PyTensor>() {
            return self.block(&tensor.get().tensor(object.py()).detach(), depth);
        }
        let is_text = object.cast::<PyString>().is_ok() || object.cast::<PyBytes>().is_ok();
        if is_text {
            return Err(Fault::kind(class(object)?, NUMBERS));
        }
        if is_array_like(object)? {
            return self.rows(&array_like("tensor", object)?, depth);
        }
        // SAFETY: asks for the type's slots only.
        if unsafe { ffi::PySequence_Check(object.as_ptr()) } == 0 {
            return Err(Fault::kind(class(object)?, NUMBERS));
        }
        self.items(object.len()?, depth, |i| object.get_item(i))
    }

    /// A number of exactly Python's own types.
    #[inline]
    fn number(&mut self, object: Borrowed<'_, '_, PyAny>, depth: usize) -> Result<(), Fault> {
        match binding::scalar(object) {
            Some(Scalar::UInt(v)) => self.leaf(Scalar::UInt(v), DType::I64, depth),
            Some(number) => self.leaf(number, binding::natural_dtype(number), depth),
            None => {
                self.check_leaf(depth)?;
                self.elements.push_oversized(object.extract()?)
            }
        }
    }

    #[inline]
    fn leaf(&mut self, number: Scalar, natural: DType, depth: usize) -> Result<(), Fault> {
        self.check_leaf(depth)?;
        self.elements.push(number, natural)
    }

    #[inline]
    fn check_leaf(&mut self, depth: usize) -> Result<(), Fault> {
        self.leaf_seen = true;
        if depth == self.shape.len() {
            return Ok(());
        }
        Err(Fault::shape("a number", format!("a sequence of length {}", self.shape[depth])))
    }

    fn items<'py>(
        &mut self,
        len: usize,
        depth: usize,
        item: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
    ) -> Result<(), Fault> {
        self.check_length(len, depth)?;
        for i in 0..len {
            self.visit(item(i)?.as_borrowed(), depth + 1).map_err(|fault| fault.within(i))?;
        }
        Ok(())
    }

    /// Takes the length of a sequence at a depth, or compares it.
    fn check_length(&mut self, len: usize, depth: usize) -> Result<(), Fault> {
        if depth < self.shape.len() && self.shape[depth] == len {
            return Ok(());
        }
        if depth < self.shape.len() {
            let accepted = format!("length {}, as at first in dim {depth}", self.shape[depth]);
            return Err(Fault::shape(format!("a sequence of length {len}"), accepted));
        }
        if self.leaf_seen {
            return Err(Fault::shape(format!("a sequence of length {len}"), "a number"));
        }
        if depth == MAX_RANK {
            return Err(Fault::shape("one more dimension", format!("at most {MAX_RANK}")));
        }
        self.shape.push(len);
        self.leaf_seen = len == 0;
        Ok(())
    }

    /// A tensor in the place of nested sequences; of one element, where no sequence is expected in one of them, it is a number.
    fn block(&mut self, tensor: &Tensor, depth: usize) -> Result<(), Fault> {
        if depth > 0 && depth == self.shape.len() && tensor.elem_count() == 1 {
            self.check_leaf(depth)?;
            return self.elements.push(tensor.to_scalars()?[0], tensor.dtype());
        }
        self.rows(tensor, depth)
    }

    /// An array in the place of nested sequences.
    fn rows(&mut self, tensor: &Tensor, depth: usize) -> Result<(), Fault> {
        for (d, &len) in tensor.dims().iter().enumerate() {
            self.check_length(len, depth + d)?;
        }
        if tensor.elem_count() == 0 {
            self.elements.note(tensor.dtype())?;
            return Ok(());
        }
        self.check_leaf(depth + tensor.rank())?;
        tensor.to_scalars()?.into_iter().try_for_each(|number| self.elements.push(number, tensor.dtype()))
    }
}

/// The dtype that a number has by itself: numpy's scalars know theirs.
fn own_dtype(object: &Bound<'_, PyAny>, number: Scalar) -> DType {
    let known = object.getattr("dtype").ok().and_then(|dtype| crate::dtype::extract(&dtype));
    known.unwrap_or_else(|| binding::natural_dtype(number))
}

fn class(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(format!("a {}", object.get_type().name()?))
}
