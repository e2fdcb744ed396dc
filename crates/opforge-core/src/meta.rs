//! A tensor without its data: dtype and layout.

use crate::{DType, Layout, Shape};

/// What is known of a tensor without its data: element type and layout. Inference maps the inputs' metas to the outputs'.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    /// The element type.
    pub dtype: DType,
    /// Shape, strides and offset.
    pub layout: Layout,
}

impl Meta {
    /// A row-major tensor from offset 0.
    pub fn contiguous(dtype: DType, shape: impl Into<Shape>) -> Self {
        Meta { dtype, layout: Layout::contiguous(shape) }
    }
    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }
    /// The lengths of the dimensions.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self.layout.dims()
    }
    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }
    /// The number of elements.
    #[inline]
    pub fn elem_count(&self) -> usize {
        self.layout.elem_count()
    }
}
