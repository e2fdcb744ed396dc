//! A tensor's bytes as elements of another dtype.

use smallvec::SmallVec;

use crate::{DType, Error, Layout, Meta, Result, Tensor};

impl Tensor {
    /// The same bytes as elements of another dtype, over the same storage. If their size is another, the last dimension shrinks or grows.
    ///
    /// # Errors
    /// For bytes as truth values, and a last dimension that does not hold a whole number of the larger elements, aligned and side by side.
    pub(crate) fn bits_as(&self, dtype: DType) -> Result<Tensor> {
        let (from, to) = (self.dtype().size_in_bytes(), dtype.size_in_bytes());
        if dtype == DType::Bool && self.dtype() != DType::Bool {
            return Err(Error::dtype("view", "dtype", dtype, "another dtype: bytes need not be truth values"));
        }
        let unfit = || {
            let given = format!("{:?} of {}", self.layout(), self.dtype());
            Error::shape("view", "input", given, format!("a last dimension of whole, aligned elements of {dtype}"))
        };
        let layout = if from == to { self.layout().clone() } else { self.regrouped(from, to).ok_or_else(unfit)? };
        if to > from && !self.device().is_meta() && !self.storage().is_aligned(to) {
            return Err(unfit());
        }
        Ok(Tensor::from_parts(Meta { dtype, layout }, self.storage().clone()))
    }

    /// The layout for elements of `to` bytes in place of `from`.
    fn regrouped(&self, from: usize, to: usize) -> Option<Layout> {
        let scaled = |n: usize| {
            let bytes = n.checked_mul(from)?;
            bytes.is_multiple_of(to).then_some(bytes / to)
        };
        let (last, lead) = self.stride().split_last()?;
        if *last != 1 {
            return None;
        }
        let mut dims = self.shape().clone().into_dims();
        *dims.last_mut()? = scaled(*dims.last()?)?;
        let mut stride: SmallVec<[usize; 6]> = lead.iter().map(|&s| scaled(s)).collect::<Option<_>>()?;
        stride.push(1);
        Layout::new(dims.into(), stride, scaled(self.layout().start_offset())?, "view").ok()
    }
}
