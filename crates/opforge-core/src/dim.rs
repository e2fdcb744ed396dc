//! How calls name dimensions: by number, from the end, several at once.

use crate::{Error, Result, Shape};
use smallvec::SmallVec;

/// A dimension counted from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum D {
    /// The last dimension.
    Minus1,
    /// The last but one.
    Minus2,
    /// The n-th from the end, from 1.
    Minus(usize),
}

impl D {
    fn distance_from_end(self) -> usize {
        match self {
            D::Minus1 => 1,
            D::Minus2 => 2,
            D::Minus(n) => n,
        }
    }
}

/// Something that names one dimension: an index, or a [`D`] from the end.
pub trait Dim {
    /// The dimension's index in a tensor of this shape.
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize>;
    /// The same for a new dimension that may also stand after the last.
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize>;
}

impl Dim for usize {
    #[inline]
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        if *self < shape.rank() { Ok(*self) } else { Err(Error::no_dim(op, *self as i64, shape)) }
    }
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        if *self <= shape.rank() { Ok(*self) } else { Err(Error::no_dim(op, *self as i64, shape)) }
    }
}

impl Dim for D {
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        let n = self.distance_from_end();
        if n >= 1 && n <= shape.rank() { Ok(shape.rank() - n) } else { Err(Error::no_dim(op, -(n as i64), shape)) }
    }
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        let n = self.distance_from_end();
        if n >= 1 && n <= shape.rank() + 1 {
            Ok(shape.rank() + 1 - n)
        } else {
            Err(Error::no_dim(op, -(n as i64), shape))
        }
    }
}

/// The index of a dimension given as Python does: `-rank <= dim < rank`. A scalar counts as having one dimension.
pub fn normalize_dim(dim: i64, rank: usize, op: &'static str) -> Result<usize> {
    let n = rank.max(1) as i64;
    if (-n..n).contains(&dim) {
        Ok(if dim < 0 { dim + n } else { dim } as usize)
    } else {
        Err(Error::index(op, "dim", dim, format!("{} to {} for rank {rank}", -n, n - 1)))
    }
}

/// Something that names several dimensions without repetition; `()` names none.
pub trait Dims: Sized {
    /// The dimensions' indices in a tensor of this shape, in the order given.
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>>;
}

fn distinct(dims: SmallVec<[usize; 6]>, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
    for (i, d) in dims.iter().enumerate() {
        if dims[..i].contains(d) {
            return Err(Error::DuplicateDimIndex { shape: Box::new(shape.clone()), dims: dims.into_vec(), op });
        }
    }
    Ok(dims)
}

fn collect<'a, T: Dim + 'a>(
    dims: impl IntoIterator<Item = &'a T>,
    shape: &Shape,
    op: &'static str,
) -> Result<SmallVec<[usize; 6]>> {
    distinct(dims.into_iter().map(|d| d.to_index(shape, op)).collect::<Result<_>>()?, shape, op)
}

impl Dims for () {
    fn to_indexes(self, _: &Shape, _: &'static str) -> Result<SmallVec<[usize; 6]>> {
        Ok(SmallVec::new())
    }
}
impl Dims for Vec<usize> {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
        collect(&self, shape, op)
    }
}
impl Dims for &[usize] {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
        collect(self, shape, op)
    }
}
impl<const N: usize> Dims for [usize; N] {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
        collect(&self, shape, op)
    }
}
impl<T: Dim> Dims for T {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
        collect([&self], shape, op)
    }
}
impl<T: Dim> Dims for (T,) {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
        collect([&self.0], shape, op)
    }
}

macro_rules! tuple_dims {
    ($(($($name:ident $i:tt),+)),*) => {
        $(impl<$($name: Dim),+> Dims for ($($name,)+) {
            fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<SmallVec<[usize; 6]>> {
                distinct([$(self.$i.to_index(shape, op)?),+].into_iter().collect(), shape, op)
            }
        })*
    };
}
tuple_dims!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, E 3), (A 0, B 1, C 2, E 3, F 4), (A 0, B 1, C 2, E 3, F 4, G 5));
