//! Tensors as cuDNN takes them: without gaps, aligned, with their channels first or last.

use std::ffi::c_int;

use opforge::operator::Lowering;
use opforge::{Meta, Result};
use opforge_core::Layout;
use opforge_tile::forms::Move;

use crate::backend::Cuda;
use crate::driver::Address;
use crate::kernel::Prepared;
use crate::memory::Block;

/// Addresses that the library's kernels take, in bytes.
const ALIGNMENT: Address = 16;

/// Where all tensors of a convolution have their channels, by cuDNN's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channels {
    /// Before the positions: tensors are contiguous.
    First = 0,
    /// After the positions, as the units for matrices take them; of a weight, those of the input.
    Last = 1,
}

impl Channels {
    /// The dimensions of a tensor, from the slowest to the fastest.
    pub fn order(self, rank: usize) -> Vec<usize> {
        match self {
            Channels::First => (0..rank).collect(),
            Channels::Last => [0].into_iter().chain(2..rank).chain([1]).collect(),
        }
    }

    /// Whether a tensor has its channels there, and no gaps.
    pub fn is_of(self, layout: &Layout) -> bool {
        layout.permute(&self.order(layout.rank())).is_ok_and(|layout| layout.is_contiguous())
    }

    /// The strides of a tensor of these lengths that has no gaps.
    pub fn strides(self, dims: &[c_int]) -> Option<Vec<c_int>> {
        let mut strides = vec![1; dims.len()];
        for pair in self.order(dims.len()).windows(2).rev() {
            let [outer, inner] = [pair[0], pair[1]];
            strides[outer] = c_int::checked_mul(strides[inner], dims[inner])?;
        }
        Some(strides)
    }
}

/// A tensor that is copied to or from a block, where it has no gaps.
pub(crate) struct Dense {
    nbytes: usize,
    /// Whether the tensor lies as it does in the block.
    is_alike: bool,
    copy: Prepared,
}

impl Dense {
    /// An input, which is copied to the block.
    pub fn input(on: &Cuda, op: &'static str, input: &Meta, channels: Channels) -> Result<Dense> {
        let layout = input.layout.permute(&channels.order(input.rank()))?;
        let dense = Meta::contiguous(input.dtype, layout.shape().clone());
        let is_alike = layout.is_contiguous();
        let given = Meta { dtype: input.dtype, layout };
        Self::copied(on, op, &given, &dense, is_alike)
    }

    /// A contiguous output, which is copied from the block; none where it lies as the block does.
    pub fn output(on: &Cuda, op: &'static str, output: &Meta, channels: Channels) -> Result<Option<Dense>> {
        let order = channels.order(output.rank());
        let there = output.layout.permute(&order)?;
        if there.is_contiguous() {
            return Ok(None);
        }
        let back: Vec<usize> = (0..order.len()).filter_map(|d| order.iter().position(|&of| of == d)).collect();
        let layout = Layout::contiguous(there.shape().clone()).permute(&back)?;
        Self::copied(on, op, &Meta { dtype: output.dtype, layout }, output, false).map(Some)
    }

    fn copied(on: &Cuda, op: &'static str, from: &Meta, to: &Meta, is_alike: bool) -> Result<Dense> {
        let copy = on.written(op, &Lowering::Move(Move::Copy), &[from], &[to])?;
        Ok(Dense { nbytes: to.elem_count() * to.dtype.size_in_bytes(), is_alike, copy })
    }

    /// A block for the tensor at this address, where it cannot be taken as it lies.
    pub fn apart(&self, at: Address) -> Result<Option<Block>> {
        let is_taken = self.is_alike && at.is_multiple_of(ALIGNMENT);
        (!is_taken).then(|| self.block()).transpose()
    }

    /// A block for the tensor.
    pub fn block(&self) -> Result<Block> {
        Block::new(self.copy.on, self.nbytes)
    }

    /// Copies from one to the other.
    ///
    /// # Safety
    /// The addresses are those of the tensor and of the block, in the direction that this was made for.
    pub unsafe fn copy(&self, from: Address, to: Address) -> Result<()> {
        // SAFETY: the copy is of this tensor, and the block as large.
        unsafe { self.copy.run(&[from], &[to]) }
    }
}

#[cfg(test)]
mod tests {
    use super::Channels;

    #[test]
    fn channels_are_the_slowest_or_the_fastest_of_an_item() {
        assert_eq!(Channels::First.strides(&[2, 8, 5, 7]), Some(vec![280, 35, 7, 1]));
        assert_eq!(Channels::Last.strides(&[2, 8, 5, 7]), Some(vec![280, 1, 56, 8]));
        assert_eq!(Channels::Last.strides(&[2, 8, 3, 5, 7]), Some(vec![840, 1, 280, 56, 8]));
        assert_eq!(Channels::Last.strides(&[2, 1 << 16, 1 << 16, 1]), None);
    }
}
