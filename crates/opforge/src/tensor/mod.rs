//! The tensor: an identity, a [`Meta`], shared storage, and a place in the autograd graph.

mod arith;
mod bits;
mod construct;
mod convert;
mod create;
pub mod display;
mod host;
mod index;
mod ndarray;
mod parts;
mod place;
mod storage;
mod summary;
mod write;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use opforge_runtime::{Device, Storage};

use crate::autograd::Slot;
use crate::{DType, Layout, Meta, Result, Shape};

pub use index::{IndexOp, TensorIndexer};
pub use ndarray::NdArray;

/// Identifies a tensor among all of the process; clones share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(usize);

impl TensorId {
    fn next() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        TensorId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// An n-dimensional array of one dtype on one device.
///
/// Cloning is cheap and shares everything. Views (`narrow`, `transpose`, ..) are tensors of their own over the same storage. Operators return
/// new tensors; large results are computed in the background, and whoever reads them waits. See the crate's documentation for a tour.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    id: TensorId,
    meta: Meta,
    storage: Arc<Storage>,
    device: Device,
    slot: Slot,
}

/// A tensor that lives as long as others hold it.
#[derive(Clone)]
pub(crate) struct WeakTensor(Weak<Inner>);

impl WeakTensor {
    pub(crate) fn upgrade(&self) -> Option<Tensor> {
        self.0.upgrade().map(Tensor)
    }

    /// Whether both are the same tensor, alive or not.
    pub(crate) fn is(&self, other: &WeakTensor) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}

impl Tensor {
    /// A tensor over storage that spans the meta's layout, outside of any autograd graph.
    pub(crate) fn from_parts(meta: Meta, storage: Arc<Storage>) -> Self {
        Self::with_slot(meta, storage, Slot::default())
    }

    pub(crate) fn with_slot(meta: Meta, storage: Arc<Storage>, slot: Slot) -> Self {
        Tensor(Arc::new(Inner { id: TensorId::next(), meta, device: storage.device(), storage, slot }))
    }

    /// A view: some layout over this tensor's storage that it spans.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self::with_slot(Meta { dtype: self.dtype(), layout }, self.storage().clone(), Slot::view_of(self))
    }

    pub(crate) fn downgrade(&self) -> WeakTensor {
        WeakTensor(Arc::downgrade(&self.0))
    }

    /// Whether nobody else holds this tensor, nor another one over its storage.
    pub(crate) fn is_unshared(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && self.storage().is_unshared()
    }

    /// The memory that this tensor and its views share.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.0.storage
    }

    pub(crate) fn slot(&self) -> &Slot {
        &self.0.slot
    }

    /// The tensor's identity.
    pub fn id(&self) -> TensorId {
        self.0.id
    }

    /// Dtype and layout.
    pub fn meta(&self) -> &Meta {
        &self.0.meta
    }

    /// Shape, strides and offset.
    pub fn layout(&self) -> &Layout {
        &self.0.meta.layout
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.meta.dtype
    }

    /// Where the elements live.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        self.layout().shape()
    }

    /// The lengths of the dimensions, outermost first.
    pub fn dims(&self) -> &[usize] {
        self.layout().dims()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.layout().rank()
    }

    /// The number of elements.
    pub fn elem_count(&self) -> usize {
        self.layout().elem_count()
    }

    /// The strides, in elements.
    pub fn stride(&self) -> &[usize] {
        self.layout().stride()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout().is_contiguous()
    }

    /// The length of one dimension.
    pub fn dim<D: crate::Dim>(&self, dim: D) -> Result<usize> {
        Ok(self.dims()[dim.to_index(self.shape(), "dim")?])
    }

    /// True when both are views of one storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(self.storage(), other.storage())
    }
}
