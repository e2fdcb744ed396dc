//! Tensors of a type that is known when the kernel is compiled.

use std::fmt;
use std::ops::{Index, IndexMut};

use crate::{Element, Error, Result};

/// An input: elements in row-major order, and a shape.
///
/// ```
/// use opforge_kernel::View;
/// # fn main() -> opforge_kernel::Result<()> {
/// let x = View::new(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!(x[[1, 0]], 4);
/// assert_eq!(x.as_slice().iter().sum::<i32>(), 21);
/// # Ok(())
/// # }
/// ```
///
/// Indexing by as many indices as there are dimensions panics outside of the shape; like every panic in a kernel that is an error for the caller.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    data: &'a [T],
    shape: &'a [usize],
}

/// An output: elements in row-major order, to be written all, and a shape. What they hold before is anything.
///
/// ```
/// use opforge_kernel::ViewMut;
/// # fn main() -> opforge_kernel::Result<()> {
/// let mut data = [0.0; 4];
/// let mut y = ViewMut::new(&mut data, &[2, 2])?;
/// y[[0, 1]] = 5.0;
/// y.as_mut_slice()[3] = 6.0;
/// assert_eq!(data, [0.0, 5.0, 0.0, 6.0]);
/// # Ok(())
/// # }
/// ```
pub struct ViewMut<'a, T> {
    data: &'a mut [T],
    shape: &'a [usize],
}

impl<'a, T: Element> View<'a, T> {
    /// A view of elements, as tests of kernels need it.
    ///
    /// # Errors
    /// If the shape has another number of elements.
    pub fn new(data: &'a [T], shape: &'a [usize]) -> Result<Self> {
        check_count(data.len(), shape)?;
        Ok(View { data, shape })
    }

    /// The elements.
    pub fn as_slice(&self) -> &'a [T] {
        self.data
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A view of elements, as tests of kernels need it.
    ///
    /// # Errors
    /// If the shape has another number of elements.
    pub fn new(data: &'a mut [T], shape: &'a [usize]) -> Result<Self> {
        check_count(data.len(), shape)?;
        Ok(ViewMut { data, shape })
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        self.data
    }

    /// The elements.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.data
    }
}

/// What views of either kind tell of themselves.
macro_rules! geometry {
    ($($view:ident)*) => {
        $(impl<'a, T: Element> $view<'a, T> {
            /// The lengths of the dimensions.
            pub fn shape(&self) -> &'a [usize] {
                self.shape
            }

            /// The number of dimensions.
            pub fn rank(&self) -> usize {
                self.shape.len()
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.data.len()
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.data.is_empty()
            }
        }

        impl<T: Element, const N: usize> Index<[usize; N]> for $view<'_, T> {
            type Output = T;

            fn index(&self, index: [usize; N]) -> &T {
                &self.data[offset(self.shape, &index)]
            }
        }

        impl<T: Element> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view)).field("dtype", &T::DTYPE).field("shape", &self.shape).finish()
            }
        })*
    };
}

geometry!(View ViewMut);

impl<T: Element, const N: usize> IndexMut<[usize; N]> for ViewMut<'_, T> {
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        &mut self.data[offset(self.shape, &index)]
    }
}

/// Where an element lies.
#[track_caller]
fn offset(shape: &[usize], index: &[usize]) -> usize {
    let inside = shape.len() == index.len() && index.iter().zip(shape).all(|(i, length)| i < length);
    assert!(inside, "index {index:?} is not in shape {shape:?}");
    index.iter().zip(shape).fold(0, |offset, (i, length)| offset * length + i)
}

fn check_count(given: usize, shape: &[usize]) -> Result<()> {
    if shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length)) == Some(given) {
        return Ok(());
    }
    Err(Error::new(format_args!("shape {shape:?} does not have {given} elements")))
}
