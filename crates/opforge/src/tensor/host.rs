//! Elements as Rust values: every read waits for the storage's last write, and brings the error of a kernel that failed.

use std::ptr::NonNull;

use opforge_core::{Element, Scalar, with_element};
use opforge_runtime::{alloc, vm};

use super::{Tensor, tracer};
use crate::{Error, Result};

impl Tensor {
    fn check_dtype<T: Element>(&self) -> Result<()> {
        if self.dtype() == T::DTYPE {
            return Ok(());
        }
        Err(Error::UnexpectedDType { msg: "dtype of a host read", expected: T::DTYPE, got: self.dtype() }.bt())
    }

    fn check_rank(&self, op: &'static str, rank: usize) -> Result<()> {
        if self.rank() == rank {
            return Ok(());
        }
        Err(Error::shape(op, "shape", format!("{:?}", self.shape()), format!("rank {rank}")))
    }

    /// All elements in row-major order, whatever the rank.
    pub(crate) fn elements<T: Element>(&self) -> Result<Vec<T>> {
        self.check_dtype::<T>()?;
        tracer::reads(self, false)?;
        let dense = self.contiguous()?;
        let start = dense.layout().start_offset();
        vm::read(dense.storage())?.to_vec(start * T::DTYPE.size_in_bytes(), dense.elem_count())
    }

    /// The memory of the whole storage, for others who read or write it between calls: see `Storage::expose`.
    ///
    /// # Errors
    /// As [`Tensor::to_scalars`].
    pub fn expose(&self) -> Result<NonNull<u8>> {
        tracer::reads(self, true)?;
        self.storage().expose()
    }

    /// All elements in row-major order as numbers, whatever shape and dtype.
    ///
    /// # Errors
    /// When the elements cannot be had.
    pub fn to_scalars(&self) -> Result<Vec<Scalar>> {
        with_element!(self.dtype(), T => alloc::vec_of(self.elements::<T>()?.into_iter().map(Element::to_scalar)))
    }

    /// The element of a tensor without dimensions.
    pub fn to_vec0<T: Element>(&self) -> Result<T> {
        self.check_rank("to_vec0", 0)?;
        Ok(self.elements()?[0])
    }

    /// As [`Tensor::to_vec0`].
    pub fn to_scalar<T: Element>(&self) -> Result<T> {
        self.check_rank("to_scalar", 0)?;
        Ok(self.elements()?[0])
    }

    /// The elements of a vector.
    pub fn to_vec1<T: Element>(&self) -> Result<Vec<T>> {
        self.check_rank("to_vec1", 1)?;
        self.elements()
    }

    /// The rows of a matrix.
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>> {
        self.check_rank("to_vec2", 2)?;
        rows(&self.elements()?, self.dims()[0], self.dims()[1])
    }

    /// The matrices of a rank-3 tensor.
    pub fn to_vec3<T: Element>(&self) -> Result<Vec<Vec<Vec<T>>>> {
        self.check_rank("to_vec3", 3)?;
        let (all, dims) = (self.elements::<T>()?, self.dims());
        let area = dims[1] * dims[2];
        alloc::check_available(dims[0].saturating_mul(size_of::<Vec<Vec<T>>>()))?;
        (0..dims[0]).map(|i| rows(&all[i * area..(i + 1) * area], dims[1], dims[2])).collect()
    }
}

fn rows<T: Element>(all: &[T], count: usize, len: usize) -> Result<Vec<Vec<T>>> {
    alloc::check_available(size_of_val(all).saturating_add(count.saturating_mul(size_of::<Vec<T>>())))?;
    (0..count).map(|i| alloc::vec_of(all[i * len..(i + 1) * len].iter().copied())).collect()
}
