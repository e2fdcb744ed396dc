//! Shape, strides and offset: where a tensor's elements lie.

use crate::{Dim, Error, Result, Shape};
use smallvec::SmallVec;

/// Strides in elements, one a dimension; 0 repeats an element along its dimension.
pub type Strides = SmallVec<[usize; 6]>;

/// How a tensor's elements lie in its storage: element `[i, j, ..]` is at `offset + i * stride[0] + j * stride[1] + ..`.
///
/// All in elements, not bytes. A layout is built only by checked constructors: its byte size and the index of its last element fit `isize`.
#[derive(PartialEq, Eq, Hash)]
pub struct Layout {
    pub(crate) shape: Shape,
    pub(crate) stride: Strides,
    pub(crate) offset: usize,
}

/// As for [`Shape`]: strides are copied at once.
impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Self {
        Layout { shape: self.shape.clone(), stride: SmallVec::from_slice(&self.stride), offset: self.offset }
    }
}

pub(crate) fn contiguous_strides(shape: &Shape) -> Strides {
    let mut stride: Strides = SmallVec::from_elem(1, shape.rank());
    let mut n = 1usize;
    for (s, &d) in stride.iter_mut().zip(shape.dims()).rev() {
        *s = n;
        n = n.saturating_mul(d.max(1));
    }
    stride
}

impl Layout {
    /// The row-major layout of a shape, starting at 0. The shape must have passed [`Shape::check`].
    pub fn contiguous(shape: impl Into<Shape>) -> Self {
        Self::contiguous_with_offset(shape, 0)
    }

    /// The row-major layout of a shape, starting at `offset`.
    pub fn contiguous_with_offset(shape: impl Into<Shape>, offset: usize) -> Self {
        let shape = shape.into();
        let stride = contiguous_strides(&shape);
        Layout { shape, stride, offset }
    }

    /// A layout of any strides. Errors when the index of its last element overflows.
    pub fn new(shape: Shape, stride: Strides, offset: usize, op: &'static str) -> Result<Self> {
        if shape.rank() != stride.len() {
            let accepted = format!("{} strides for the shape {shape:?}", shape.rank());
            return Err(Error::shape(op, "stride", format!("{:?}", stride.as_slice()), accepted));
        }
        shape.check(op, 16)?;
        let layout = Layout { shape, stride, offset };
        layout.checked_span().filter(|&n| n <= isize::MAX as usize / 16).ok_or_else(|| {
            let given = format!("{:?} with stride {:?}, offset {offset}", layout.shape, layout.stride.as_slice());
            Error::shape(op, "layout", given, "indices that fit the address space")
        })?;
        Ok(layout)
    }

    /// The same memory of complex numbers as that of their parts, in a last dimension of 2.
    pub fn of_parts(&self) -> Layout {
        let shape = self.dims().iter().copied().chain([2]).collect::<Vec<usize>>().into();
        let stride = self.stride.iter().map(|&stride| 2 * stride).chain([1]).collect();
        Layout { shape, stride, offset: 2 * self.offset }
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// The lengths of the dimensions.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }
    /// The length of one dimension.
    ///
    /// # Errors
    /// For a dimension that the shape lacks.
    pub fn dim<D: Dim>(&self, dim: D) -> Result<usize> {
        Ok(self.shape[dim.to_index(&self.shape, "dim")?])
    }
    /// The strides in elements.
    #[inline]
    pub fn stride(&self) -> &[usize] {
        &self.stride
    }
    /// The index of the first element in the storage.
    #[inline]
    pub fn start_offset(&self) -> usize {
        self.offset
    }
    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }
    /// The number of elements.
    #[inline]
    pub fn elem_count(&self) -> usize {
        self.shape.elem_count()
    }

    fn checked_span(&self) -> Option<usize> {
        if self.dims().contains(&0) {
            return Some(self.offset);
        }
        let last = self
            .dims()
            .iter()
            .zip(&self.stride)
            .try_fold(self.offset, |n, (&d, &s)| n.checked_add((d - 1).checked_mul(s)?))?;
        last.checked_add(1)
    }

    /// The number of storage elements this layout needs: the index of its last element plus one; the offset if it is empty.
    #[inline]
    pub fn span(&self) -> usize {
        self.checked_span().unwrap_or(usize::MAX)
    }

    /// Row-major without gaps. Strides of dimensions of length 1, and of empty tensors, do not matter.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for (&d, &s) in self.dims().iter().zip(&self.stride).rev() {
            if d == 0 {
                return true;
            }
            if d != 1 {
                if s != expected {
                    return false;
                }
                expected *= d;
            }
        }
        true
    }

    /// Column-major without gaps.
    pub fn is_fortran_contiguous(&self) -> bool {
        self.shape.is_fortran_contiguous(&self.stride)
    }

    /// candle's name of [`Layout::may_overlap_itself`].
    pub fn has_internal_overlap(&self) -> bool {
        self.may_overlap_itself()
    }

    /// The range of storage elements if the layout is contiguous.
    pub fn contiguous_offsets(&self) -> Option<(usize, usize)> {
        self.is_contiguous().then(|| (self.offset, self.offset + self.elem_count()))
    }

    /// True when two elements share a place in the storage, as after a broadcast. Exact for strides that nest (all views but some made by
    /// `as_strided` and `unfold`); for others it may say true without an overlap.
    pub fn may_overlap_itself(&self) -> bool {
        if self.is_contiguous() || self.dims().contains(&0) {
            return false;
        }
        let mut dims: SmallVec<[(usize, usize); 6]> =
            self.dims().iter().zip(&self.stride).filter(|(d, _)| **d > 1).map(|(&d, &s)| (s, d)).collect();
        dims.sort_unstable();
        let mut reach = 0usize;
        for (stride, dim) in dims {
            if stride <= reach {
                return true;
            }
            reach += stride * (dim - 1);
        }
        false
    }
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} stride {:?} offset {}", self.shape, self.stride.as_slice(), self.offset)
    }
}
