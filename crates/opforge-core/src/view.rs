//! The layout changes behind views. None touches an element; all keep within the storage that the layout they start from spans, but for
//! [`Layout::as_strided`], whose caller checks the span against its storage.

use crate::layout::{Layout, Strides};
use crate::{Error, Result, Shape};
use smallvec::SmallVec;

impl Layout {
    fn check_dim(&self, dim: usize, op: &'static str) -> Result<()> {
        if dim < self.rank() {
            return Ok(());
        }
        Err(Error::no_dim(op, dim as i64, &self.shape))
    }

    /// Elements `start .. start + len` of a dimension.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        self.check_dim(dim, "narrow")?;
        let size = self.shape[dim];
        if start.checked_add(len).is_none_or(|end| end > size) {
            let msg = if start > size { "start > dim_len" } else { "start + len > dim_len" };
            return Err(Error::NarrowInvalidArgs { shape: Box::new(self.shape.clone()), dim, start, len, msg });
        }
        Ok(self.slice_unchecked(dim, start, len, 1))
    }

    /// Elements `start, start + step, ..` below `end` of a dimension; `start` and `end` beyond the size stop at it.
    pub fn slice(&self, dim: usize, start: usize, end: usize, step: usize) -> Result<Self> {
        self.check_dim(dim, "slice")?;
        if step == 0 {
            return Err(Error::value("slice", "step", step, "a step of at least 1"));
        }
        let size = self.shape[dim];
        let (start, end) = (start.min(size), end.min(size));
        let len = end.saturating_sub(start).div_ceil(step);
        let step = if len <= 1 { 1 } else { step };
        Ok(self.slice_unchecked(dim, start, len, step))
    }

    #[inline]
    fn slice_unchecked(&self, dim: usize, start: usize, len: usize, step: usize) -> Self {
        let mut out = self.clone();
        out.shape.dims_mut()[dim] = len;
        // An empty result keeps its offset, so that it never points past the storage.
        if out.elem_count() > 0 {
            out.offset += start * self.stride[dim];
        }
        out.stride[dim] *= step;
        out
    }

    /// The index `i` of a dimension, which goes away.
    pub fn select(&self, dim: usize, i: usize) -> Result<Self> {
        self.narrow(dim, i, 1)?.squeeze(dim)
    }

    /// Dimensions in a new order: the result's dimension `k` is this one's `order[k]`.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let mut seen = SmallVec::<[bool; 8]>::from_elem(false, self.rank());
        let distinct = order.iter().all(|&d| d < self.rank() && !std::mem::replace(&mut seen[d], true));
        if !distinct || order.len() != self.rank() {
            let accepted = format!("each dimension of {:?} once", self.shape);
            return Err(Error::index("permute", "dims", format!("{order:?}"), accepted));
        }
        Ok(Layout {
            shape: order.iter().map(|&d| self.shape[d]).collect(),
            stride: order.iter().map(|&d| self.stride[d]).collect(),
            offset: self.offset,
        })
    }

    /// Two dimensions exchanged.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self> {
        self.check_dim(a, "transpose")?;
        self.check_dim(b, "transpose")?;
        let mut out = self.clone();
        out.shape.dims_mut().swap(a, b);
        out.stride.swap(a, b);
        Ok(out)
    }

    /// Stretched to a larger shape: dimensions align at the end, new ones and those of length 1 repeat with stride 0.
    pub fn broadcast_as(&self, shape: &Shape, op: &'static str) -> Result<Self> {
        let mismatch = || match op {
            "expand" => Error::BroadcastIncompatibleShapes {
                src_shape: Box::new(self.shape.clone()),
                dst_shape: Box::new(shape.clone()),
            },
            op => Error::shapes(op, &self.shape, shape, "lhs that broadcasts to rhs"),
        };
        shape.check(op, 16)?;
        let lead = shape.rank().checked_sub(self.rank()).ok_or_else(mismatch)?;
        let mut stride: Strides = SmallVec::from_elem(0, shape.rank());
        for (i, (&from, &s)) in self.dims().iter().zip(&self.stride).enumerate() {
            match (from, shape[lead + i]) {
                (a, b) if a == b => stride[lead + i] = s,
                (1, _) => {}
                _ => return Err(mismatch()),
            }
        }
        Ok(Layout { shape: shape.clone(), stride, offset: self.offset })
    }

    /// The same elements in the same row-major order under another shape, or `None` where that needs a copy.
    pub fn reshape(&self, shape: &Shape) -> Result<Option<Self>> {
        shape.check("reshape", 16)?;
        if shape.elem_count() != self.elem_count() {
            return Err(Error::binary_shapes("reshape", &self.shape, shape));
        }
        if self.elem_count() == 0 || self.is_contiguous() {
            return Ok(Some(Layout::contiguous_with_offset(shape.clone(), self.offset)));
        }
        Ok(self.reshaped_strides(shape).map(|stride| Layout { shape: shape.clone(), stride, offset: self.offset }))
    }

    /// Splits both shapes, from the left, into the shortest groups of equal products; a group can be viewed when its source dimensions lie
    /// as if contiguous among themselves.
    fn reshaped_strides(&self, shape: &Shape) -> Option<Strides> {
        let from: SmallVec<[(usize, usize); 6]> =
            self.dims().iter().zip(&self.stride).filter(|(d, _)| **d != 1).map(|(&d, &s)| (d, s)).collect();
        let to = shape.dims();
        let mut stride: Strides = SmallVec::from_elem(1, to.len());
        let (mut i, mut j) = (0, 0);
        while i < from.len() {
            let (first_from, first_to) = (i, j);
            let (mut a, mut b) = (from[i].0, to[j]);
            while a != b {
                if a < b {
                    i += 1;
                    a *= from[i].0;
                } else {
                    j += 1;
                    b *= to[j];
                }
            }
            let group = &from[first_from..=i];
            if group.windows(2).any(|w| w[0].1 != w[1].1.saturating_mul(w[1].0)) {
                return None;
            }
            let mut s = from[i].1;
            for k in (first_to..=j).rev() {
                stride[k] = s;
                s *= to[k];
            }
            i += 1;
            j += 1;
        }
        Some(stride)
    }

    /// Without dimension `dim`, which must have length 1.
    pub fn squeeze(&self, dim: usize) -> Result<Self> {
        self.check_dim(dim, "squeeze")?;
        if self.shape[dim] != 1 {
            let given = format!("{dim} of the shape {:?}", self.shape);
            return Err(Error::shape("squeeze", "dim", given, "a dimension of length 1"));
        }
        let mut out = self.clone();
        out.shape.dims_mut().remove(dim);
        out.stride.remove(dim);
        Ok(out)
    }

    /// With a new dimension of length 1 at `dim`.
    pub fn unsqueeze(&self, dim: usize) -> Result<Self> {
        if dim > self.rank() {
            return Err(Error::index("unsqueeze", "dim", dim, format!("0 to {}", self.rank())));
        }
        let mut out = self.clone();
        let stride = if dim == self.rank() { 1 } else { self.stride[dim] * self.shape[dim].max(1) };
        out.shape.dims_mut().insert(dim, 1);
        out.stride.insert(dim, stride);
        out.shape.check("unsqueeze", 16)?;
        Ok(out)
    }

    /// The diagonal `offset` above (or, negative, below) the main one of dimensions `a` and `b`, as a new last dimension.
    pub fn diagonal(&self, offset: i64, a: usize, b: usize) -> Result<Self> {
        self.check_dim(a, "diagonal")?;
        self.check_dim(b, "diagonal")?;
        if a == b {
            return Err(Error::index("diagonal", "dims", format!("{a} and {b}"), "two different dimensions"));
        }
        let skip = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        let (skip_a, skip_b) = if offset >= 0 { (0, skip) } else { (skip, 0) };
        let len = self.shape[a].saturating_sub(skip_a).min(self.shape[b].saturating_sub(skip_b));
        let mut out = self.clone();
        if len > 0 && self.elem_count() > 0 {
            out.offset += skip_a * self.stride[a] + skip_b * self.stride[b];
        }
        for d in [a.max(b), a.min(b)] {
            out.shape.dims_mut().remove(d);
            out.stride.remove(d);
        }
        out.shape.dims_mut().push(len);
        out.stride.push(self.stride[a] + self.stride[b]);
        Ok(out)
    }

    /// Windows of `size` elements, `step` apart, along `dim`; the window is a new last dimension.
    pub fn unfold(&self, dim: usize, size: usize, step: usize) -> Result<Self> {
        self.check_dim(dim, "unfold")?;
        let len = self.shape[dim];
        if size > len {
            return Err(Error::value("unfold", "size", size, format!("at most {len}, the length of dim {dim}")));
        }
        if step == 0 {
            return Err(Error::value("unfold", "step", step, "a step of at least 1"));
        }
        let mut out = self.clone();
        let windows = (len - size) / step + 1;
        out.shape.dims_mut()[dim] = windows;
        out.stride[dim] = if windows == 1 { self.stride[dim] } else { self.stride[dim] * step };
        out.shape.dims_mut().push(size);
        out.stride.push(self.stride[dim]);
        out.shape.check("unfold", 16)?;
        Ok(out)
    }

    /// Any shape, strides and offset over the storage. The caller checks [`Layout::span`] against the storage's length.
    pub fn as_strided(shape: Shape, stride: Strides, offset: usize) -> Result<Self> {
        Layout::new(shape, stride, offset, "as_strided")
    }
}
