use std::ffi::{c_char, c_int};

use opforge_core::{DType, Meta};

use super::dtype::dtype_name;

/// The arrays that describe arguments to a kernel: ranks, shapes, names of dtypes.
pub(crate) struct Arrays {
    pub ndims: Vec<c_int>,
    pub shapes: Vec<*mut i64>,
    pub dtypes: Vec<*const c_char>,
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
        let mut all: Vec<(Vec<i64>, DType)> = metas.iter().map(|meta| (lengths(meta), meta.dtype)).collect();
        all.extend(workspaces.iter().map(|&bytes| (vec![bytes as i64], DType::U8)));
        Arrays::new(all.iter().map(|(shape, dtype)| (&shape[..], *dtype)))
    }

    /// How many arguments there are.
    pub fn len(&self) -> usize {
        self.ndims.len()
    }
}

/// A shape as kernels see it.
pub(crate) fn lengths(meta: &Meta) -> Vec<i64> {
    meta.dims().iter().map(|&n| n as i64).collect()
}
