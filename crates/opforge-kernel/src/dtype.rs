//! The types of elements.

use std::ffi::CStr;
use std::fmt;

use crate::{Error, Result};

/// A Rust type that tensors have as elements.
///
/// These are `bool`, the integers from 8 to 64 bits, `f32`, `f64`, [`f16`](crate::f16) and [`bf16`](crate::bf16) (with the feature `half`), and
/// for complex numbers `[f32; 2]` and `[f64; 2]`, the real part first.
#[diagnostic::on_unimplemented(message = "tensors do not have elements of type `{Self}`")]
pub trait Element: Copy + Send + Sync + PartialEq + fmt::Debug + Valid + 'static {
    /// The dtype of such tensors.
    const DTYPE: DType;
}

/// Types that may be read from memory of unknown content. For this crate alone.
///
/// # Safety
/// All bytes are values of the type; those of `bool` once [`is_valid`] or [`make_valid`] has seen to them.
pub unsafe trait Valid {}

/// Whether bytes are values of `T`: those of `bool` are 0 and 1.
pub(crate) fn is_valid<T: Element>(bytes: &[u8]) -> bool {
    T::DTYPE != DType::Bool || bytes.iter().fold(0, |seen, byte| seen | byte) <= 1
}

/// Makes bytes values of `T`: those of `bool` that are not 0 become 1.
pub(crate) fn make_valid<T: Element>(bytes: &mut [u8]) {
    if T::DTYPE == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte = (*byte != 0).into());
    }
}

/// The dtypes with their types, names and sizes in bytes.
macro_rules! dtypes {
    ($($(#[$meta:meta])* $variant:ident($ty:ty) = $name:literal, $size:literal;)*) => {
        /// The type of a tensor's elements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum DType {
            $($variant,)*
        }

        impl DType {
            /// Every dtype.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// The name by which kernels and users know it, such as `"float32"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                }
            }

            /// Bytes that an element takes.
            pub const fn size(self) -> usize {
                match self {
                    $(DType::$variant => $size,)*
                }
            }

            pub(crate) fn from_name(name: &CStr) -> Option<Self> {
                $(if name.to_bytes() == $name.as_bytes() {
                    return Some(DType::$variant);
                })*
                None
            }
        }

        $($(#[$meta])*
        impl Element for $ty {
            const DTYPE: DType = {
                assert!(size_of::<$ty>() == $size);
                DType::$variant
            };
        }

        $(#[$meta])*
        // SAFETY: numbers have values for all bytes; `bool` is excepted.
        unsafe impl Valid for $ty {})*
    };
}

dtypes! {
    Bool(bool) = "bool", 1;
    I8(i8) = "int8", 1;
    I16(i16) = "int16", 2;
    I32(i32) = "int32", 4;
    I64(i64) = "int64", 8;
    U8(u8) = "uint8", 1;
    U16(u16) = "uint16", 2;
    U32(u32) = "uint32", 4;
    U64(u64) = "uint64", 8;
    #[cfg(feature = "half")]
    F16(half::f16) = "float16", 2;
    #[cfg(feature = "half")]
    BF16(half::bf16) = "bfloat16", 2;
    F32(f32) = "float32", 4;
    F64(f64) = "float64", 8;
    C64([f32; 2]) = "complex64", 8;
    C128([f64; 2]) = "complex128", 16;
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl DType {
    #[doc(hidden)]
    #[cold]
    pub fn not_among(self, accepted: &[DType]) -> Error {
        let accepted: Vec<&str> = accepted.iter().map(|dtype| dtype.name()).collect();
        Error::new(format_args!("dtype {self} is not supported; accepted: {}", accepted.join(", ")))
    }
}

/// Whether a tensor's dtype is that of `T`.
pub(crate) fn expect<T: Element>(name: &str, dtype: DType) -> Result<()> {
    if dtype == T::DTYPE {
        return Ok(());
    }
    Err(Error::new(format_args!("{name} has dtype {dtype}; accepted: {}", T::DTYPE)))
}

/// Runs generic code for the type that a dtype known only at run time stands for.
///
/// `dispatch!(dtype, T in [f32, f64] => expression)` is the expression, a [`Result`](std::result::Result), with `T` as the type of the list that has this dtype; or an
/// [`Error`] that names the accepted dtypes, if none has.
///
/// ```
/// use opforge_kernel::{AnyView, AnyViewMut, Element, Result, View, ViewMut, dispatch, kernel};
///
/// #[kernel]
/// fn clamp_below(x: AnyView<'_>, mut y: AnyViewMut<'_>) -> Result<()> {
///     dispatch!(x.dtype(), T in [f32, f64, i32] => positive::<T>(x.view()?, y.view_mut()?))
/// }
///
/// fn positive<T: Element + PartialOrd + Default>(x: View<'_, T>, mut y: ViewMut<'_, T>) -> Result<()> {
///     for (y, x) in y.as_mut_slice().iter_mut().zip(x.as_slice()) {
///         *y = if *x < T::default() { T::default() } else { *x };
///     }
///     Ok(())
/// }
/// ```
#[macro_export]
macro_rules! dispatch {
    ($dtype:expr, $T:ident in [$($ty:ty),+ $(,)?] => $body:expr) => {
        match $dtype {
            $(dtype if dtype == <$ty as $crate::Element>::DTYPE => {
                type $T = $ty;
                $body
            })+
            dtype => Err($crate::DType::not_among(dtype, &[$(<$ty as $crate::Element>::DTYPE),+]).into()),
        }
    };
}
