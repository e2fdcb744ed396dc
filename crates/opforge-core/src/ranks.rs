//! A shape's lengths as a tuple, for shapes whose rank the program knows.

use crate::{Error, Result, Shape};

macro_rules! ranks {
    ($($name:ident, $rank:literal, ($($d:ident),*), $ty:ty;)*) => {
        impl Shape {
            $(#[doc = concat!("The lengths of a shape of rank ", stringify!($rank), ".")]
            ///
            /// # Errors
            /// For a shape of another rank.
            pub fn $name(&self) -> Result<$ty> {
                $name(self.dims())
            })*
        }

        $(#[doc = concat!("The lengths of a shape of rank ", stringify!($rank), ".")]
        ///
        /// # Errors
        /// For a shape of another rank.
        pub fn $name(dims: &[usize]) -> Result<$ty> {
            match *dims {
                [$($d),*] => Ok(($($d),*)),
                _ => {
                    let (got, shape) = (dims.len(), Box::new(dims.into()));
                    Err(Error::UnexpectedNumberOfDims { expected: $rank, got, shape })
                }
            }
        }

        impl TryFrom<Shape> for $ty {
            type Error = Error;
            fn try_from(shape: Shape) -> Result<Self> {
                shape.$name()
            }
        })*
    };
}
ranks! {
    dims0, 0, (), ();
    dims1, 1, (a), usize;
    dims2, 2, (a, b), (usize, usize);
    dims3, 3, (a, b, c), (usize, usize, usize);
    dims4, 4, (a, b, c, d), (usize, usize, usize, usize);
    dims5, 5, (a, b, c, d, e), (usize, usize, usize, usize, usize);
}
