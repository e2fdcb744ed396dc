//! Tensors of a type that is known when the kernel runs.

use crate::dtype::{expect, is_valid, make_valid};
use crate::raw::Info;
use crate::{DType, Element, Error, Result, View, ViewMut};

/// An input of any dtype: its bytes, to be [viewed](AnyView::view) as elements of the dtype that it has.
///
/// See [`dispatch!`](crate::dispatch) for kernels of several dtypes.
#[derive(Debug, Clone, Copy)]
pub struct AnyView<'a> {
    pub(crate) name: &'static str,
    pub(crate) info: Info<'a>,
    pub(crate) bytes: &'a [u8],
}

/// An output of any dtype: its bytes, to be [viewed](AnyViewMut::view_mut) as elements of the dtype that it has.
#[derive(Debug)]
pub struct AnyViewMut<'a> {
    pub(crate) name: &'static str,
    pub(crate) info: Info<'a>,
    pub(crate) bytes: &'a mut [u8],
}

impl<'a> AnyView<'a> {
    /// The elements.
    ///
    /// # Errors
    /// For another dtype than `T`'s; for memory that is not aligned for `T`, or holds what is no `bool`.
    pub fn view<T: Element>(&self) -> Result<View<'a, T>> {
        expect::<T>(self.name, self.info.dtype)?;
        if !is_valid::<T>(self.bytes) {
            return Err(Error::new(format_args!("{} holds bytes that are no {}", self.name, T::DTYPE)));
        }
        // SAFETY: the bytes are values of `T`.
        let (before, elements, _) = unsafe { self.bytes.align_to::<T>() };
        check_aligned::<T>(self.name, before)?;
        View::new(elements, self.info.shape)
    }

    /// The bytes of the elements.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> AnyViewMut<'a> {
    /// The elements.
    ///
    /// # Errors
    /// For another dtype than `T`'s; for memory that is not aligned for `T`.
    pub fn view_mut<T: Element>(&mut self) -> Result<ViewMut<'_, T>> {
        AnyViewMut { name: self.name, info: self.info, bytes: self.bytes }.into_view()
    }

    /// The elements, for as long as there is anything to be seen of them.
    ///
    /// # Errors
    /// As [`AnyViewMut::view_mut`].
    pub fn into_view<T: Element>(self) -> Result<ViewMut<'a, T>> {
        expect::<T>(self.name, self.info.dtype)?;
        ViewMut::new(elements(self.name, self.bytes)?, self.info.shape)
    }

    /// The bytes of the elements.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

/// What views of either kind tell of themselves.
macro_rules! geometry {
    ($($view:ident)*) => {
        $(impl<'a> $view<'a> {
            /// The type of the elements.
            pub fn dtype(&self) -> DType {
                self.info.dtype
            }

            /// The lengths of the dimensions.
            pub fn shape(&self) -> &'a [usize] {
                self.info.shape
            }

            /// The number of dimensions.
            pub fn rank(&self) -> usize {
                self.info.shape.len()
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.bytes.len() / self.info.dtype.size()
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.bytes.is_empty()
            }
        })*
    };
}

geometry!(AnyView AnyViewMut);

/// As many elements as fit into bytes.
pub(crate) fn elements<'a, T: Element>(name: &str, bytes: &'a mut [u8]) -> Result<&'a mut [T]> {
    make_valid::<T>(bytes);
    // SAFETY: the bytes are values of `T` now.
    let (before, elements, _) = unsafe { bytes.align_to_mut::<T>() };
    check_aligned::<T>(name, before)?;
    Ok(elements)
}

/// No bytes stand before the first that is aligned.
fn check_aligned<T>(name: &str, before: &[u8]) -> Result<()> {
    if before.is_empty() {
        return Ok(());
    }
    let (at, accepted) = (before.as_ptr(), align_of::<T>());
    Err(Error::new(format_args!("{name} lies at {at:p}, which is not a multiple of {accepted} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(dtype: DType, bytes: &'a [u8], shape: &'a [usize]) -> AnyView<'a> {
        AnyView { name: "x", info: Info { dtype, shape }, bytes }
    }

    #[test]
    fn memory_must_be_aligned() {
        let words = [0x0302_0100_u32, 0x0706_0504];
        // SAFETY: every byte is a `u8`.
        let (_, bytes, _) = unsafe { words.align_to::<u8>() };
        assert_eq!(view(DType::I32, &bytes[..4], &[1]).view::<i32>().unwrap().as_slice().len(), 1);
        let error = view(DType::I32, &bytes[1..5], &[1]).view::<i32>().unwrap_err().to_string();
        assert!(error.starts_with("x lies at 0x") && error.ends_with("not a multiple of 4 bytes"), "{error}");
        assert!(view(DType::I32, &bytes[1..1], &[0]).view::<i32>().unwrap().is_empty());
        let mut copy = bytes.to_vec();
        let whole: &mut [u16] = elements("w", &mut copy[..7]).unwrap();
        assert_eq!(whole.len(), 3);
    }

    #[test]
    fn truth_values_are_made_of_whatever_was_there() {
        assert_eq!(elements::<bool>("y", &mut [0, 1, 255]).unwrap(), [false, true, true]);
        assert!(view(DType::Bool, &[1, 2], &[2]).view::<bool>().is_err());
    }
}
