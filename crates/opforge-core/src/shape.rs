//! The lengths of a tensor's dimensions.

use crate::{Dim, Error, Result};
use smallvec::SmallVec;

/// The largest number of dimensions a tensor may have.
pub const MAX_RANK: usize = 32;

/// The lengths of a tensor's dimensions, outermost first. `[]` is a scalar.
///
/// Up to six dimensions are held inline. A `Shape` built by hand may be of any size; operators check it with
/// [`Shape::check`] before they use it, and a [`crate::Layout`] only ever holds a checked one.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 6]>);

/// A copy of the memory: the derived clone goes element by element, and every call of an operator clones shapes.
impl Clone for Shape {
    #[inline]
    fn clone(&self) -> Self {
        Shape(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// The shape with these dimensions.
    pub fn from_dims(dims: &[usize]) -> Self {
        Shape(SmallVec::from_slice(dims))
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The dimensions, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// The length of one dimension.
    ///
    /// # Errors
    /// For a dimension that the shape lacks.
    pub fn dim<D: Dim>(&self, dim: D) -> Result<usize> {
        Ok(self.0[dim.to_index(self, "dim")?])
    }

    /// The dimensions as a vector.
    pub fn into_dims(self) -> Vec<usize> {
        self.0.into_vec()
    }

    pub(crate) fn dims_mut(&mut self) -> &mut SmallVec<[usize; 6]> {
        &mut self.0
    }

    /// The number of elements. Saturates; a shape that passed [`Shape::check`] never does.
    #[inline]
    pub fn elem_count(&self) -> usize {
        self.0.iter().fold(1usize, |n, &d| n.saturating_mul(d))
    }

    /// Refuses ranks above [`MAX_RANK`] and sizes whose byte count does not fit `isize`, also where another dimension is 0.
    pub fn check(&self, op: &'static str, element_size: usize) -> Result<()> {
        if self.rank() > MAX_RANK {
            let given = format!("{self:?} of rank {}", self.rank());
            return Err(Error::shape(op, "shape", given, format!("rank at most {MAX_RANK}")));
        }
        let bytes = self.0.iter().try_fold(element_size.max(1), |n, &d| n.checked_mul(d.max(1)));
        match bytes {
            Some(n) if n <= isize::MAX as usize => Ok(()),
            _ => Err(Error::shape(op, "shape", format!("{self:?}"), "sizes whose product fits the address space")),
        }
    }

    /// The shape that both broadcast to by numpy's rule (dimensions align at the end; 1 stretches).
    pub fn broadcast(&self, rhs: &Shape, op: &'static str) -> Result<Shape> {
        let (long, short) = if self.rank() >= rhs.rank() { (self, rhs) } else { (rhs, self) };
        let mut out = long.clone();
        let lead = long.rank() - short.rank();
        for (i, &s) in short.dims().iter().enumerate() {
            let o = &mut out.0[lead + i];
            match (*o, s) {
                (a, b) if a == b => {}
                (1, b) => *o = b,
                (_, 1) => {}
                _ => return Err(Error::binary_shapes(op, self, rhs)),
            }
        }
        Ok(out)
    }

    /// As [`Shape::broadcast`]: candle's name.
    ///
    /// # Errors
    /// As [`Shape::broadcast`].
    pub fn broadcast_shape_binary_op(&self, rhs: &Shape, op: &'static str) -> Result<Shape> {
        self.broadcast(rhs, op)
    }

    /// The shape with more dimensions at the end.
    pub fn extend(mut self, additional_dims: &[usize]) -> Shape {
        self.0.extend_from_slice(additional_dims);
        self
    }

    /// Whether these strides are row-major without gaps; those of dimensions of length 1, and of empty shapes, do not matter.
    pub fn is_contiguous(&self, stride: &[usize]) -> bool {
        self.rank() == stride.len() && follow(self.0.iter().zip(stride).rev())
    }

    /// As [`Shape::is_contiguous`], column-major.
    pub fn is_fortran_contiguous(&self, stride: &[usize]) -> bool {
        self.rank() == stride.len() && follow(self.0.iter().zip(stride))
    }

    /// The strides, in elements, of a row-major tensor of this shape.
    pub fn stride_contiguous(&self) -> Vec<usize> {
        crate::layout::contiguous_strides(self).into_vec()
    }
}

/// Whether each dimension that has several elements begins where those before it end; the pairs are lengths and strides, the innermost first.
fn follow<'a>(dims: impl Iterator<Item = (&'a usize, &'a usize)> + Clone) -> bool {
    let mut expected = 1usize;
    let mut fits = |(&len, &stride): (&usize, &usize)| {
        let fits = len == 1 || stride == expected;
        expected = expected.saturating_mul(len);
        fits
    };
    dims.clone().any(|(&len, _)| len == 0) || dims.into_iter().all(&mut fits)
}

impl std::ops::Index<usize> for Shape {
    type Output = usize;
    fn index(&self, i: usize) -> &usize {
        &self.0[i]
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}

impl From<()> for Shape {
    fn from(_: ()) -> Self {
        Shape::default()
    }
}
impl From<usize> for Shape {
    fn from(d: usize) -> Self {
        Shape::from_dims(&[d])
    }
}
impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Shape::from_dims(dims)
    }
}
impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(dims: &[usize; N]) -> Self {
        Shape::from_dims(dims)
    }
}
impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Shape::from_dims(&dims)
    }
}
impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Shape(SmallVec::from_vec(dims))
    }
}
impl From<&Vec<usize>> for Shape {
    fn from(dims: &Vec<usize>) -> Self {
        Shape::from_dims(dims)
    }
}
impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}
impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Self {
        Shape(dims.into_iter().collect())
    }
}

/// Shapes from tuples of one to six lengths, and shapes in which one `()` stands for the length that makes the count right.
macro_rules! tuple_shapes {
    ($(($($name:ident),+)),*) => {
        $(impl From<tuple_shapes!(@tuple $($name),+)> for Shape {
            #[allow(non_snake_case)]
            fn from(($($name,)+): tuple_shapes!(@tuple $($name),+)) -> Self {
                Shape::from_dims(&[$($name),+])
            }
        })*
    };
    (@tuple $($name:ident),+) => { ($(tuple_shapes!(@usize $name),)+) };
    (@usize $name:ident) => { usize };
}
tuple_shapes!((A), (A, B), (A, B, C), (A, B, C, E), (A, B, C, E, F), (A, B, C, E, F, G));

/// A shape of which one length may be left for the element count to decide, written `()`: `(2, (), 4)`.
pub trait ShapeWithOneHole {
    /// The full shape for a tensor of `elem_count` elements.
    fn into_shape(self, elem_count: usize) -> Result<Shape>;
}

impl<S: Into<Shape>> ShapeWithOneHole for S {
    fn into_shape(self, _: usize) -> Result<Shape> {
        Ok(self.into())
    }
}

impl ShapeWithOneHole for ((),) {
    fn into_shape(self, elem_count: usize) -> Result<Shape> {
        Ok(elem_count.into())
    }
}

fn fill_hole(before: &[usize], after: &[usize], elem_count: usize) -> Result<Shape> {
    let known = before.iter().chain(after).try_fold(1usize, |n, &d| n.checked_mul(d));
    match known {
        Some(n) if n > 0 && elem_count.is_multiple_of(n) => {
            let hole = elem_count / n;
            Ok(before.iter().copied().chain([hole]).chain(after.iter().copied()).collect())
        }
        _ => {
            let given = format!("{before:?}, (), {after:?}");
            Err(Error::shape("reshape", "shape", given, format!("sizes that divide {elem_count} elements")))
        }
    }
}

macro_rules! one_hole {
    ($(($($before:ident),*; $($after:ident),*)),*) => {
        $(impl ShapeWithOneHole for ($(one_hole!(@usize $before),)* (), $(one_hole!(@usize $after),)*) {
            #[allow(non_snake_case)]
            fn into_shape(self, elem_count: usize) -> Result<Shape> {
                let ($($before,)* (), $($after,)*) = self;
                fill_hole(&[$($before),*], &[$($after),*], elem_count)
            }
        })*
    };
    (@usize $name:ident) => { usize };
}
one_hole!((; A), (A;), (; A, B), (A; B), (A, B;), (; A, B, C), (A; B, C), (A, B; C), (A, B, C;));
one_hole!((; A, B, C, E), (A; B, C, E), (A, B; C, E), (A, B, C; E), (A, B, C, E;));
