//! Copies between tensors and vectors on the host.

use opforge_core::{Hosted, with_storage};
use opforge_runtime::{Storage as Memory, vm};

use super::CpuStorage;
use crate::{Device, Element, Layout, Result, Shape, Tensor};

/// A copy of the part of a tensor's storage that its layout spans, the layout within that part, and where the part begins.
pub(super) fn spanned(tensor: &Tensor) -> Result<(CpuStorage, Layout, usize)> {
    let layout = tensor.layout();
    let start = layout.start_offset();
    let len = if tensor.elem_count() == 0 { 0 } else { layout.span() - start };
    let stride = layout.stride().iter().copied().collect();
    let layout = Layout::new(layout.shape().clone(), stride, 0, "custom operator")?;
    Ok((read(tensor, start, len)?, layout, start))
}

/// A copy of a tensor's storage up to the last element that its layout names.
pub(super) fn whole(tensor: &Tensor) -> Result<CpuStorage> {
    read(tensor, 0, if tensor.elem_count() == 0 { 0 } else { tensor.layout().span() })
}

/// The elements of a part of a tensor's storage, on whatever device it is.
fn read(tensor: &Tensor, start: usize, len: usize) -> Result<CpuStorage> {
    fn copied<T: Element + Hosted>(bytes: &vm::ReadGuard<'_>, start: usize, len: usize) -> Result<Vec<T>> {
        bytes.to_vec(start * size_of::<T>(), len)
    }
    let bytes = vm::read(tensor.storage())?;
    let mut storage = CpuStorage::empty(tensor.dtype());
    with_storage!(&mut storage, values => *values = copied(&bytes, start, len)?);
    Ok(storage)
}

/// A tensor of the elements, which are in row-major order, on a device.
pub(super) fn into_tensor(storage: CpuStorage, shape: Shape, device: &Device) -> Result<Tensor> {
    with_storage!(storage, values => Tensor::from_vec(values, shape, device))
}

/// A tensor of the elements that a layout names, over a copy of the storage.
pub(super) fn viewed(storage: &CpuStorage, layout: &Layout) -> Result<Tensor> {
    let memory = with_storage!(storage, values => Memory::from_vec(values.clone()));
    Tensor::over_storage(memory, storage.element_dtype(), layout.clone())
}

/// A tensor's elements in row-major order.
pub(super) fn elements(tensor: &Tensor) -> Result<CpuStorage> {
    whole(&tensor.force_contiguous()?)
}
