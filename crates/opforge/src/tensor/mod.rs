//! The tensor: an identity, a [`Meta`], shared storage, and a place in the autograd graph.

mod bits;
mod convert;
pub mod display;
mod host;
mod ndarray;
mod place;
mod shared_meta;
mod storage;
pub mod tracer;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use opforge_runtime::{Device, Storage};

use crate::autograd::Slot;
use crate::{DType, Layout, Meta, Result, Shape};

pub use ndarray::NdArray;
pub(crate) use shared_meta::SharedMeta;

/// Identifies a tensor among all of the process; clones share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(usize);

impl TensorId {
    fn next() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        TensorId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The number, which no other tensor of the process has.
    pub fn number(self) -> usize {
        self.0
    }
}

/// An n-dimensional array of one dtype on one device.
///
/// Cloning is cheap and shares everything. Views (`narrow`, `transpose`, ..) are tensors of their own over the same storage. Operators return
/// new tensors; large results are computed in the background, and whoever reads them waits. See the crate's documentation for a tour.
///
/// # Beside candle and PyTorch
///
/// Methods give what candle's give, [`functional`](crate::functional)'s functions what PyTorch's do: `x.repeat(2)` repeats the first dimension,
/// `repeat(&x, &[2])` asks for all of them; numbers are cast to integers (`x - 1.7` takes 1 away), functions refuse those that do not fit;
/// `floor`, `ceil`, `round` and `sign` have no gradient, their functions one of zeros. Where candle's answer depends on how it is computed, is
/// wrong, or is made up for a dtype that a function does not have, methods do as PyTorch:
///
/// | | candle 0.11 | here |
/// |---|---|---|
/// | NaN in `max`, `min`, `maximum`, `minimum`, `clamp`, `relu` | is passed over | is the result |
/// | NaN in `argmax`, `argmin`, `sort_last_dim`, `arg_sort_last_dim` | is passed over; sorts nothing beside it | is greatest; the extreme that `argmax` and `argmin` find |
/// | gradients of equal elements, `max` and `min` over dimensions | all of it to each | equal shares |
/// | gradients of `abs`, `relu`, `leaky_relu` and `PReLU` at 0 | 1, 1, means of both slopes | 0, 0, the slope below 0 |
/// | gradients of `clamp` where a bound equals the element | half | 1 |
/// | gradients of `elu`, `pow`, `powf`, `div` and losses where a factor is infinite or 0 | often NaN | the limit where there is one |
/// | gradients of products with 0 (`x * 0.0`, `affine(0.0, b)`) | none | zeros |
/// | gradients of `scatter`, `scatter_add` and `slice_scatter` by the tensor | by the wrong places | the derivative |
/// | gradients of `gelu` and `gelu_erf` in f64 | six digits | all digits |
/// | gradients of fused functions (`softmax_last_dim`, `rms_norm`, `layer_norm`, `rope`) | none | the derivative |
/// | gradients of tensors that are no variables | of constants that meet variables | none; only of a root outside of the graph |
/// | `track_op` of integers and comparisons | whether a variable was met | whether a gradient flows |
/// | `log_sum_exp` of infinities | NaN | the limit |
/// | `cumsum` | a product with a triangular matrix: infinities and NaN reach sums before them | running sums |
/// | `pow` of negative numbers | NaN | the power, for whole exponents |
/// | sums and means | one element after the other, f16 and bf16 rounded each time | in an order that is exact for more; f16 and bf16 rounded once |
/// | numbers that meet f16 and bf16 | rounded first | the result is rounded once |
/// | signs of zeros | vary | PyTorch's |
/// | `erf`, `gelu`, `gelu_erf`, `silu` of integers | 0 | an error |
/// | dropout of integers, with a factor cut to whole numbers | a value | an error |
/// | tensors without elements | dtypes, dimensions and indices go unchecked; operators return their input; `var` is 0 | are checked like others; `var` is NaN |
/// | views without elements | contiguous by their strides, which contain 0 | contiguous; strides as if lengths of 0 were 1 |
/// | `matmul` of other batch dimensions with as many elements (`[2, 3, ..]`, `[3, 2, ..]`) | takes them as they lie | an error |
/// | constants set through a view with stride 0 | are set | an error |
/// | indices, sizes and ranges that overflow (`..=usize::MAX`) | wrap around | an error |
/// | `Display` of f16, bf16 and of shapes like `[2, 0]` | without [`display::PrinterOptions`]; `[[], []]` | as f32; `[]` |
/// | [`Device::supports_bf16`] of the CPU | no | yes |
/// | `AdamW` with factors of means outside of 0 to 1; `rope_thd` with longer tables for each sequence | NaN; other sequences' rows | an error; each its own |
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    id: TensorId,
    meta: SharedMeta,
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
    #[inline]
    pub(crate) fn from_parts(meta: impl Into<SharedMeta>, storage: Arc<Storage>) -> Self {
        Self::with_slot(meta, storage, Slot::default())
    }

    #[inline]
    pub(crate) fn with_slot(meta: impl Into<SharedMeta>, storage: Arc<Storage>, slot: Slot) -> Self {
        let meta = meta.into();
        Tensor(Arc::new(Inner { id: TensorId::next(), meta, device: storage.device(), storage, slot }))
    }

    /// A tensor with the identity of another.
    pub(crate) fn standing_for(place: &Tensor, meta: SharedMeta, storage: Arc<Storage>, slot: Slot) -> Self {
        Tensor(Arc::new(Inner { id: place.id(), meta, device: storage.device(), storage, slot }))
    }

    /// A view: some layout over this tensor's storage that it spans.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self::with_slot(Meta { dtype: self.dtype(), layout }, self.storage().clone(), Slot::view_of(self))
    }

    pub(crate) fn downgrade(&self) -> WeakTensor {
        WeakTensor(Arc::downgrade(&self.0))
    }

    /// Whether nobody else holds this tensor, nor another one over its storage.
    pub fn is_unshared(&self) -> bool {
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

    #[inline]
    pub(crate) fn shared_meta(&self) -> &SharedMeta {
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

    /// Whether the elements lie in column-major order without gaps.
    pub fn is_fortran_contiguous(&self) -> bool {
        self.layout().is_fortran_contiguous()
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
