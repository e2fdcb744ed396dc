//! Where tensors and their elements are.

use opforge_core::{StridedBlocks, StridedIndex};

use crate::{Result, Tensor};

macro_rules! ranks {
    ($($name:ident -> $ty:ty),*) => {
        impl Tensor {
            $(#[doc = concat!("The lengths of the dimensions: see [`Shape::", stringify!($name), "`](crate::Shape::", stringify!($name), ").")]
            ///
            /// # Errors
            /// For a tensor of another rank.
            pub fn $name(&self) -> Result<$ty> {
                self.shape().$name()
            })*
        }
    };
}
ranks!(dims0 -> (), dims1 -> usize, dims2 -> (usize, usize), dims3 -> (usize, usize, usize));
ranks!(dims4 -> (usize, usize, usize, usize), dims5 -> (usize, usize, usize, usize, usize));

impl Tensor {
    /// The storage index of every element in row-major order.
    pub fn strided_index(&self) -> StridedIndex<'_> {
        self.layout().indices()
    }

    /// The elements in row-major order as runs of consecutive storage elements.
    pub fn strided_blocks(&self) -> StridedBlocks<'_> {
        self.layout().strided_blocks()
    }

    /// Whether this is a variable: a leaf that collects gradients.
    pub fn is_variable(&self) -> bool {
        self.requires_grad() && self.is_leaf()
    }

    /// Whether operators on this tensor are recorded.
    pub fn track_op(&self) -> bool {
        self.requires_grad()
    }
}
