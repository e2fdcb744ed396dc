//! Ranks, shapes and dtypes as kernels get them.

use std::ffi::{c_char, c_int};

use opforge_core::{DType, Meta};

use super::dtype::dtype_name;

/// The arrays that describe arguments to a kernel: ranks, shapes, names of dtypes.
pub(crate) struct Arrays {
    ndims: Vec<c_int>,
    shapes: Vec<*mut i64>,
    dtypes: Vec<*const c_char>,
    /// What `shapes` points into; at least one length a tensor, so that shapes of rank 0 may be read.
    _lengths: Vec<i64>,
}

// SAFETY: the pointers lead into a vector that the value owns, and to static texts.
unsafe impl Send for Arrays {}

impl Arrays {
    /// For tensors of these shapes and dtypes.
    pub fn new<'a>(tensors: impl Iterator<Item = (&'a [i64], DType)> + Clone) -> Self {
        let mut lengths = Vec::new();
        let mut starts = Vec::new();
        for (shape, _) in tensors.clone() {
            starts.push(lengths.len());
            lengths.extend_from_slice(shape);
            lengths.extend(shape.is_empty().then_some(1));
        }
        let base: *mut i64 = lengths.as_mut_ptr();
        Arrays {
            ndims: tensors.clone().map(|(shape, _)| shape.len() as c_int).collect(),
            shapes: starts.iter().map(|&start| base.wrapping_add(start)).collect(),
            dtypes: tensors.map(|(_, dtype)| dtype_name(dtype).as_ptr()).collect(),
            _lengths: lengths,
        }
    }

    /// For inputs and outputs, then workspaces as vectors of bytes.
    pub fn with_workspaces(metas: &[&Meta], workspaces: &[usize]) -> Self {
        let mut all: Vec<(Vec<i64>, DType)> = metas.iter().map(|meta| (lengths(meta.dims()), meta.dtype)).collect();
        all.extend(workspaces.iter().map(|&bytes| (vec![bytes as i64], DType::U8)));
        Arrays::new(all.iter().map(|(shape, dtype)| (&shape[..], *dtype)))
    }

    /// The arrays as functions take them.
    #[inline]
    pub fn parts(&mut self) -> (*mut c_int, *mut *mut i64, *mut *const c_char) {
        (self.ndims.as_mut_ptr(), self.shapes.as_mut_ptr(), self.dtypes.as_mut_ptr())
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.ndims.len()
    }
}

/// A length, or a rank as the only length, that is not known.
pub(crate) const UNKNOWN_LENGTH: i64 = -1;
pub(crate) const UNKNOWN_RANK: i64 = -2;

/// A shape as kernels see it.
pub(crate) fn lengths(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&n| n as i64).collect()
}
