//! The buffer protocol (PEP 3118), both ways, without copies.

mod export;
mod format;
mod region;

use std::sync::Arc;

use opforge::{DType, Error, Layout, Shape, Tensor};
use opforge_runtime::Storage;
use pyo3::prelude::*;

use super::numpy;
use crate::error::{OrRaise, raise};
pub use export::{release, show};
pub use region::Region;

const SUPPORTED: &str = "bool, uint8..uint64, int8..int64, float16..float64, complex64, complex128";

/// A tensor over the memory of an object that has the buffer protocol: read-only if the object is.
///
/// # Errors
/// TypeError for elements that are not numbers; ValueError for negative strides, and for byte orders and alignments other than this machine's.
pub fn import(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = object.py();
    let region = match Region::of(op, object) {
        Ok(region) => region,
        Err(error) => return numpy::small_floats(op, object)?.ok_or(error),
    };
    let dtype = element_dtype(op, &region).or_raise(py)?;
    let layout = layout(op, &region, dtype).or_raise(py)?;
    let storage = region.into_storage(layout.span() * dtype.size_in_bytes());
    over(op, storage, dtype, layout).or_raise(py)
}

/// A tensor over memory that others see too.
pub fn over(op: &'static str, storage: Arc<Storage>, dtype: DType, layout: Layout) -> opforge::Result<Tensor> {
    storage.expose()?;
    let tensor = Tensor::over_storage(storage, dtype, layout)?;
    check_truth(op, &tensor)?;
    Ok(tensor)
}

/// A vector over the bytes of an object that has the buffer protocol: `count` elements from a byte offset on, by default as many as fit.
pub fn import_bytes(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    dtype: DType,
    count: Option<usize>,
    offset: usize,
) -> PyResult<Tensor> {
    let (py, size) = (object.py(), dtype.size_in_bytes());
    let region = Region::of(op, object)?;
    let Some(available) = region.len.checked_sub(offset).filter(|_| region.is_dense()) else {
        let accepted = format!("an offset within the buffer's {} bytes, which follow each other", region.len);
        return Err(raise(py, &Error::value(op, "offset", offset, accepted)));
    };
    let count = count.unwrap_or(available / size);
    if count == 0 || count.checked_mul(size).is_none_or(|bytes| bytes > available) {
        let accepted = format!("1 to {} elements of {size} bytes", available / size);
        return Err(raise(py, &Error::value(op, "count", count, accepted)));
    }
    let storage = region.from(offset).into_storage(count * size);
    over(op, storage, dtype, Layout::contiguous(count)).or_raise(py)
}

fn element_dtype(op: &'static str, region: &Region) -> opforge::Result<DType> {
    let (format, itemsize) = (&region.format, region.itemsize);
    let dtype = format::to_dtype(format, itemsize);
    let dtype = dtype.ok_or_else(|| Error::dtype(op, "data", format!("elements of format '{format}'"), SUPPORTED))?;
    if format::is_swapped(format, itemsize) {
        let accepted = "this machine's; see numpy.ndarray.astype";
        return Err(Error::value(op, "data", format!("the other byte order ('{format}')"), accepted));
    }
    Ok(dtype)
}

/// The layout in elements of what the region describes in bytes.
fn layout(op: &'static str, region: &Region, dtype: DType) -> opforge::Result<Layout> {
    let size = dtype.size_in_bytes();
    let shape = Shape::from(&region.shape[..]);
    let dense = Layout::contiguous(&shape);
    let Some(strides) = &region.strides else { return Ok(dense) };
    if shape.elem_count() == 0 {
        return Ok(dense);
    }
    let stride = |&stride: &isize| {
        usize::try_from(stride).ok().filter(|stride| stride % size == 0).map(|stride| stride / size).ok_or_else(|| {
            let accepted = format!("positive multiples of the element size, {size}; copy the array to get them");
            Error::value(op, "data", format!("strides of {strides:?} bytes"), accepted)
        })
    };
    Layout::new(shape, strides.iter().map(stride).collect::<opforge::Result<_>>()?, 0, op)
}

/// Kernels rely on truth values of 0 and 1. A stretched dimension's are read once.
pub fn check_truth(op: &'static str, tensor: &Tensor) -> opforge::Result<()> {
    if tensor.dtype() != DType::Bool || tensor.elem_count() == 0 {
        return Ok(());
    }
    let layout = tensor.layout();
    let lengths: Vec<usize> =
        layout.dims().iter().zip(layout.stride()).map(|(&n, &s)| if s == 0 { 1 } else { n }).collect();
    let once = Layout::new(lengths.into(), layout.stride().into(), layout.start_offset(), op)?;
    let bytes = Tensor::over_storage(tensor.storage().clone(), DType::U8, once)?;
    if bytes.max_all()?.to_scalar::<u8>()? <= 1 {
        return Ok(());
    }
    Err(Error::value(op, "data", "truth values other than 0 and 1", "bytes of 0 and 1"))
}
