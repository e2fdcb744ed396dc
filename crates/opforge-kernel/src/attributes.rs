use std::ffi::{CString, c_int};
use std::{ptr, str};

use crate::raw::{Extra, list};
use crate::{Error, Result};

/// What an operator knows besides its tensors.
///
/// ```
/// use opforge_kernel::{Attributes, Result};
///
/// fn axes(attributes: &Attributes) -> Result<Vec<i64>> {
///     let keep: bool = attributes.find("keep_dim")?.unwrap_or(false);
///     let axes: &[i64] = attributes.get("axes")?;
///     Ok(if keep { vec![] } else { axes.to_vec() })
/// }
/// ```
pub struct Attributes {
    extra: Extra,
}

impl Attributes {
    pub(crate) fn new(extra: Extra) -> Self {
        Attributes { extra }
    }

    /// Whether there is an attribute of this name.
    pub fn contains(&self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else { return false };
        // SAFETY: the name is a text that ends with a zero.
        unsafe { (self.extra.api.has_attr)(self.extra.at, name.as_ptr()) != 0 }
    }

    /// The attribute of this name. `T` is `bool`, `i64`, `f32`, `&str`, `&[i64]`, `&[f32]`, `Vec<&[i64]>` or `Vec<&[f32]>`.
    ///
    /// # Errors
    /// If there is none, or if it is of another type.
    pub fn get<'a, T: AttributeValue<'a>>(&'a self, name: &str) -> Result<T> {
        self.find(name)?.ok_or_else(|| Error::new(format_args!("there is no attribute '{name}'")))
    }

    /// The attribute of this name, if there is one.
    ///
    /// # Errors
    /// If it is of another type.
    pub fn find<'a, T: AttributeValue<'a>>(&'a self, name: &str) -> Result<Option<T>> {
        if !self.contains(name) {
            return Ok(None);
        }
        let wrong = |_| Error::new(format_args!("attribute '{name}' is not {}", T::TYPE));
        let c_name = CString::new(name).map_err(Error::new)?;
        T::read(Reader { extra: self.extra, name: &c_name }).ok_or(()).map_err(wrong).map(Some)
    }
}

/// A type that attributes have: see [`Attributes::get`].
#[diagnostic::on_unimplemented(
    message = "attributes do not have the type `{Self}`",
    note = "they are bool, i64, f32, &str, &[i64], &[f32], Vec<&[i64]> or Vec<&[f32]>"
)]
pub trait AttributeValue<'a>: Sized {
    /// What users call it.
    #[doc(hidden)]
    const TYPE: &'static str;
    #[doc(hidden)]
    fn read(reader: Reader<'_>) -> Option<Self>;
}

/// Where an attribute is read from.
#[doc(hidden)]
pub struct Reader<'n> {
    extra: Extra,
    name: &'n CString,
}

macro_rules! single {
    ($($ty:ty = $getter:ident as $raw:ty, $name:literal, $convert:expr;)*) => {
        $(impl AttributeValue<'_> for $ty {
            const TYPE: &'static str = $name;

            fn read(reader: Reader<'_>) -> Option<Self> {
                let Extra { at, api } = reader.extra;
                let mut value: $raw = Default::default();
                // SAFETY: the name ends with a zero, and there is a place for the result.
                let status = unsafe { (api.$getter)(at, reader.name.as_ptr(), &mut value) };
                (status == 0).then(|| $convert(value))
            }
        })*
    };
}

single! {
    bool = get_bool as c_int, "a bool", |value| value != 0;
    i64 = get_int as i64, "an int", std::convert::identity;
    f32 = get_float as f32, "a float", std::convert::identity;
}

macro_rules! lists {
    ($($ty:ty = $list:ident, $list_name:literal, $rows:ident, $rows_name:literal;)*) => {
        $(impl<'a> AttributeValue<'a> for &'a [$ty] {
            const TYPE: &'static str = $list_name;

            fn read(reader: Reader<'_>) -> Option<Self> {
                let Extra { at, api } = reader.extra;
                let (mut values, mut count) = (ptr::null(), 0);
                // SAFETY: as above; lists live as long as `extra`, which outlives the attributes.
                unsafe {
                    ((api.$list)(at, reader.name.as_ptr(), &mut values, &mut count) == 0).then(|| list(values, count))
                }
            }
        }

        impl<'a> AttributeValue<'a> for Vec<&'a [$ty]> {
            const TYPE: &'static str = $rows_name;

            fn read(reader: Reader<'_>) -> Option<Self> {
                let Extra { at, api } = reader.extra;
                let (mut values, mut offsets, mut rows) = (ptr::null(), ptr::null(), 0);
                // SAFETY: as above; there is an offset more than rows, and rows lie between them.
                unsafe {
                    if (api.$rows)(at, reader.name.as_ptr(), &mut values, &mut offsets, &mut rows) != 0 {
                        return None;
                    }
                    let offsets = list(offsets, rows + 1);
                    Some(offsets.windows(2).map(|row| list(values.wrapping_add(row[0]), row[1] - row[0])).collect())
                }
            }
        })*
    };
}

lists! {
    i64 = get_ints, "a list of ints", get_int_rows, "a list of lists of ints";
    f32 = get_floats, "a list of floats", get_float_rows, "a list of lists of floats";
}

impl<'a> AttributeValue<'a> for &'a str {
    const TYPE: &'static str = "a text";

    fn read(reader: Reader<'_>) -> Option<Self> {
        let Extra { at, api } = reader.extra;
        let (mut text, mut length) = (ptr::null(), 0);
        // SAFETY: as for lists.
        let bytes = unsafe {
            ((api.get_string)(at, reader.name.as_ptr(), &mut text, &mut length) == 0)
                .then(|| list(text.cast::<u8>(), length))
        };
        str::from_utf8(bytes?).ok()
    }
}
