//! A [`Meta`] as tensors share it. Dtype, shape and strides of a tensor never change, so the results of a plan, what recorded calls remember and
//! detached tensors all point at one, which carries its hash. The inference cache tells most calls apart by these addresses.

use std::hash::Hasher;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHasher;

use crate::{DType, Meta};

/// A meta that does not change any more, shared by the tensors, plans and recorded calls that have it.
///
/// All results of a plan share one, and so do their detached copies: most calls are told apart without a look at shapes.
#[derive(Debug, Clone)]
pub(crate) struct SharedMeta(Arc<Hashed>);

#[derive(Debug)]
struct Hashed {
    /// Of all but the offset.
    hash: u64,
    meta: Meta,
}

impl SharedMeta {
    /// A hash of dtype, shape and strides.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.0.hash
    }

    /// Whether dtype, shape and strides are equal; offsets may differ.
    #[inline]
    pub fn is_like(&self, other: &SharedMeta) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.hash() == other.hash() && have_equal_parts(self, other))
    }
}

fn have_equal_parts(a: &Meta, b: &Meta) -> bool {
    // For so few numbers the comparison of slices, a call of `memcmp`, takes longer.
    let equal = |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b);
    a.dtype == b.dtype && equal(a.dims(), b.dims()) && equal(a.layout.stride(), b.layout.stride())
}

fn hash(dtype: DType, dims: &[usize], stride: &[usize]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_usize(dtype as usize);
    for (&length, &stride) in dims.iter().zip(stride) {
        hasher.write_usize(length);
        hasher.write_usize(stride);
    }
    hasher.finish()
}

impl From<Meta> for SharedMeta {
    #[inline]
    fn from(meta: Meta) -> Self {
        let hash = hash(meta.dtype, meta.dims(), meta.layout.stride());
        SharedMeta(Arc::new(Hashed { hash, meta }))
    }
}

impl Deref for SharedMeta {
    type Target = Meta;
    #[inline]
    fn deref(&self) -> &Meta {
        &self.0.meta
    }
}
