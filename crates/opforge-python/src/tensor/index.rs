//! `x[..]` and `x[..] = value`: integers, slices, `None` and `...` make views; index tensors, masks and lists gather and scatter.

use opforge::functional::{copy_into, fill_with, index_get, unbind, where_cond};
use opforge::{DType, Error, Tensor};
use opforge_core::Kind;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

use super::PyTensor;
use super::host::from_object;
use crate::binding;
use crate::error::{OrRaise, raise};

/// One part of an index.
enum Part<'py> {
    At(i64),
    Slice(Bound<'py, PySlice>),
    New,
    Rest,
    Tensor(Tensor),
}

impl<'py> Part<'py> {
    fn parse(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(slice) = object.cast::<PySlice>() {
            return Ok(Part::Slice(slice.clone()));
        }
        if object.cast::<PyInt>().is_ok() && object.cast::<PyBool>().is_err() {
            return object.extract().map(Part::At);
        }
        if object.is_none() {
            return Ok(Part::New);
        }
        if object.cast::<PyEllipsis>().is_ok() {
            return Ok(Part::Rest);
        }
        let tensor = match object.cast::<PyTensor>() {
            Ok(tensor) => tensor.get().tensor(object.py()),
            Err(_) => from_object(object, None)?,
        };
        let dtype = tensor.dtype();
        if let Some(i) = known_number(&tensor) {
            return Ok(Part::At(i));
        }
        if dtype != DType::Bool && dtype.is_differentiable() && tensor.elem_count() > 0 {
            let accepted = "integers, slices, None, ..., and tensors of integers or truth values";
            let class = object.get_type().name()?.to_string();
            let error = Error::index("index", "index", format!("{class} of {}", dtype.long_name()), accepted);
            return Err(raise(object.py(), &error));
        }
        // An empty list has no telling dtype.
        let empty = tensor.elem_count() == 0 && dtype.kind() == Kind::Float;
        Ok(Part::Tensor(if empty { tensor.to_dtype(DType::I64).or_raise(object.py())? } else { tensor }))
    }

    /// How many dimensions it takes away or goes through.
    fn dims(&self) -> usize {
        match self {
            Part::At(_) | Part::Slice(_) => 1,
            Part::New | Part::Rest => 0,
            Part::Tensor(t) if matches!(t.dtype(), DType::Bool) => t.rank(),
            Part::Tensor(_) => 1,
        }
    }
}

/// What an index selects: a view, and index tensors for its dimensions.
struct Selection {
    view: Tensor,
    indices: Vec<Option<Tensor>>,
}

impl Selection {
    fn new(py: Python<'_>, tensor: Tensor, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut selection = Selection { view: tensor, indices: Vec::new() };
        let parts = match key.cast::<PyTuple>() {
            Ok(parts) => parts.iter().map(|part| Part::parse(&part)).collect::<PyResult<Vec<_>>>()?,
            Err(_) if stands_for_tuple(key)? => {
                key.try_iter()?.map(|part| Part::parse(&part?)).collect::<PyResult<_>>()?
            }
            Err(_) => vec![Part::parse(key)?],
        };
        selection.select_all(py, &parts)?;
        Ok(selection)
    }

    fn select_all(&mut self, py: Python<'_>, parts: &[Part<'_>]) -> PyResult<()> {
        let used: usize = parts.iter().map(Part::dims).sum();
        let Some(rest) = self.view.rank().checked_sub(used) else {
            let accepted = format!("at most {} indices for shape {:?}", self.view.rank(), self.view.dims());
            return Err(raise(py, &Error::index("index", "index", format!("{used} indices"), accepted)));
        };
        let mut dim = 0;
        for part in parts {
            dim = self.select(py, part, dim, rest)?;
        }
        Ok(())
    }

    /// Applies a part to dimension `dim`; gives the dimension for the next. `rest` is what `...` stands for.
    fn select(&mut self, py: Python<'_>, part: &Part<'_>, dim: usize, rest: usize) -> PyResult<usize> {
        if dim + part.dims() > self.view.rank() {
            let given = format!("an index of dimension {dim} behind more than one `...`");
            let accepted = format!("indices of the {} dimensions", self.view.rank());
            return Err(raise(py, &Error::index("index", "index", given, accepted)));
        }
        match part {
            Part::Rest => return Ok(dim + rest),
            Part::Slice(slice) => self.view = sliced(&self.view, dim, slice)?,
            Part::New => self.view = self.view.unsqueeze(dim).or_raise(py)?,
            Part::At(i) => {
                self.view = at(py, &self.view, dim, *i)?;
                return Ok(dim);
            }
            Part::Tensor(t) if t.rank() == 0 && matches!(t.dtype(), DType::Bool) => {
                self.view = self.view.unsqueeze(dim).or_raise(py)?;
                self.index(dim, beside(&self.view, t).and_then(|t| t.unsqueeze(0)).or_raise(py)?);
            }
            Part::Tensor(t) => {
                self.index(dim, beside(&self.view, t).or_raise(py)?);
                return Ok(dim + part.dims());
            }
        }
        Ok(dim + 1)
    }

    fn index(&mut self, dim: usize, tensor: Tensor) {
        // A mask takes several dimensions but is one entry of the list.
        let taken: usize =
            self.indices.iter().flatten().map(|t| if t.dtype() == DType::Bool { t.rank() } else { 1 }).sum();
        let missing = self.indices.iter().filter(|i| i.is_none()).count();
        self.indices.extend((taken + missing..dim).map(|_| None));
        self.indices.push(Some(tensor));
    }
}

/// The number of an index without dimensions, which selects as numbers do; none where elements cannot be read, as in a graph that is traced.
fn known_number(index: &Tensor) -> Option<i64> {
    let is_number = index.rank() == 0 && index.dtype().is_int() && index.dtype() != DType::U8;
    if !is_number {
        return None;
    }
    index.to_dtype(DType::I64).and_then(|index| index.to_scalar()).ok()
}

/// Whether an index is a list that stands for a tuple, as in numpy's early versions and PyTorch: short, with a part that is more than a number.
fn stands_for_tuple(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    /// Longer lists are rows of numbers.
    const LONGEST: usize = 31;
    let Ok(list) = key.cast::<PyList>() else { return Ok(false) };
    let is_part = |part: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(part.is_none()
            || part.is_instance_of::<PySlice>()
            || part.is_instance_of::<PyEllipsis>()
            || part.hasattr("__len__")?)
    };
    if list.len() > LONGEST {
        return Ok(false);
    }
    for part in list {
        if is_part(&part)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn at(py: Python<'_>, tensor: &Tensor, dim: usize, i: i64) -> PyResult<Tensor> {
    let size = tensor.dims()[dim];
    let place = if i < 0 { i + size as i64 } else { i };
    match usize::try_from(place) {
        Ok(place) if place < size => tensor.get_on_dim(dim, place).or_raise(py),
        _ => {
            let accepted = format!("{} to {}", -(size as i64), size as i64 - 1);
            Err(raise(py, &Error::index("index", format!("index of dimension {dim}"), i, accepted)))
        }
    }
}

fn sliced(tensor: &Tensor, dim: usize, slice: &Bound<'_, PySlice>) -> PyResult<Tensor> {
    let range = slice.indices(tensor.dims()[dim] as isize)?;
    if range.step <= 0 {
        return Err(PyValueError::new_err("step must be greater than zero"));
    }
    let (start, length) = (range.start as usize, range.slicelength);
    if range.step == 1 {
        return tensor.narrow(dim, start, length).or_raise(slice.py());
    }
    let end =
        (start + length.saturating_sub(1) * range.step as usize + usize::from(length > 0)).min(tensor.dims()[dim]);
    tensor.slice(dim, start, end, range.step as usize).or_raise(slice.py())
}

/// An index where the tensor is: it may come from main memory.
fn beside(tensor: &Tensor, index: &Tensor) -> opforge::Result<Tensor> {
    if index.device().is_cpu() { index.to_device(tensor.device()) } else { Ok(index.clone()) }
}

/// A value that is assigned, in the dtype of the tensor that it goes to and with at most its number of dimensions.
fn value_for(view: &Tensor, value: &Bound<'_, PyAny>, rank: usize) -> PyResult<Tensor> {
    let py = value.py();
    let mut value = match value.cast::<PyTensor>() {
        Ok(tensor) => tensor.get().tensor(py),
        Err(_) => beside(view, &from_object(value, Some(view.dtype()))?).or_raise(py)?,
    };
    while value.rank() > rank && value.dims()[0] == 1 {
        value = value.squeeze(0).or_raise(py)?;
    }
    value.to_dtype(view.dtype()).or_raise(py)
}

/// Writes a number, a tensor, or what stands for one, to all of a view.
pub(super) fn write(view: &Tensor, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = value.py();
    let is_tensor = value.cast::<PyTensor>().is_ok();
    if let Some(number) = (!is_tensor).then(|| binding::scalar(value.as_borrowed())).flatten() {
        return fill_with(view, number.into()).map(drop).or_raise(py);
    }
    let value = value_for(view, value, view.rank())?;
    copy_into(view, &value, false).map(drop).or_raise(py)
}

/// The mask, if the index is one mask from the first dimension on.
fn only_mask(selection: &Selection) -> Option<&Tensor> {
    match &selection.indices[..] {
        [Some(mask)] if mask.dtype() == DType::Bool && mask.dims() == &selection.view.dims()[..mask.rank()] => {
            Some(mask)
        }
        _ => None,
    }
}

/// Writes one number where a mask is true.
fn fill_masked(view: &Tensor, mask: &Tensor, value: &Tensor) -> opforge::Result<()> {
    let mut shape = mask.dims().to_vec();
    shape.resize(view.rank(), 1);
    let filled = where_cond(&mask.reshape(shape)?, value.into(), view.into())?;
    copy_into(view, &filled, false).map(drop)
}

#[pymethods]
impl PyTensor {
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let selection = Selection::new(py, self.tensor(py), key)?;
        if selection.indices.is_empty() {
            return Self::wrap(py, selection.view);
        }
        Self::wrap(py, index_get(&selection.view, &selection.indices).or_raise(py)?)
    }

    fn __setitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let selection = Selection::new(py, self.tensor(py), key)?;
        let view = &selection.view;
        if selection.indices.is_empty() {
            return write(view, value);
        }
        let value = value_for(view, value, usize::MAX)?;
        match only_mask(&selection) {
            Some(mask) if value.elem_count() == 1 && value.rank() == 0 => fill_masked(view, mask, &value).or_raise(py),
            _ => view.index_put_set(&selection.indices, &value, false).or_raise(py),
        }
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err("elements of a tensor cannot be deleted"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor(py);
        if tensor.rank() == 0 {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        }
        let rows = unbind(&tensor, 0).or_raise(py)?;
        Ok(PyTuple::new(py, rows.into_iter().map(PyTensor::from))?.try_iter()?.into_any())
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        slf.rich_compare(value, pyo3::basic::CompareOp::Eq)?.call_method0("any")?.is_truthy()
    }
}
