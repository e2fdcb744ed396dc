//! Attributes of a call, read by name and type.

use std::ffi::CString;
use std::{ptr, str};

use crate::raw::{Api, Extra, Getter, ListGetter, RowsGetter, list};
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
        let wrong = || Error::new(format_args!("attribute '{name}' is not {}", T::TYPE));
        let reader = Reader { attributes: self, name: CString::new(name).map_err(Error::new)? };
        T::read(reader).ok_or_else(wrong).map(Some)
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
    fn read(reader: Reader<'a>) -> Option<Self>;
}

/// Where an attribute is read from.
#[doc(hidden)]
pub struct Reader<'a> {
    attributes: &'a Attributes,
    name: CString,
}

impl<'a> Reader<'a> {
    fn one<T: Default>(&self, getter: impl Fn(&Api) -> Getter<T>) -> Option<T> {
        let Extra { at, api } = self.attributes.extra;
        let mut value = T::default();
        // SAFETY: the name ends with a zero, and there is a place for the result.
        let status = unsafe { getter(api)(at, self.name.as_ptr(), &mut value) };
        (status == 0).then_some(value)
    }

    fn list<T>(&self, getter: impl Fn(&Api) -> ListGetter<T>) -> Option<&'a [T]> {
        let Extra { at, api } = self.attributes.extra;
        let (mut values, mut count) = (ptr::null(), 0);
        // SAFETY: the name ends with a zero, and there are places for both results; lists live as long as `extra`, which outlives the attributes.
        unsafe { (getter(api)(at, self.name.as_ptr(), &mut values, &mut count) == 0).then(|| list(values, count)) }
    }

    fn rows<T>(&self, getter: impl Fn(&Api) -> RowsGetter<T>) -> Option<Vec<&'a [T]>> {
        let Extra { at, api } = self.attributes.extra;
        let (mut values, mut offsets, mut rows) = (ptr::null(), ptr::null(), 0);
        // SAFETY: the name ends with a zero, and there are places for the results; there is an offset more than rows, and rows lie between them.
        unsafe {
            if getter(api)(at, self.name.as_ptr(), &mut values, &mut offsets, &mut rows) != 0 {
                return None;
            }
            let offsets = list(offsets, rows + 1);
            Some(offsets.windows(2).map(|row| list(values.wrapping_add(row[0]), row[1] - row[0])).collect())
        }
    }

    fn text(&self) -> Option<&'a str> {
        let text = self.list(|api| api.get_string)?;
        // SAFETY: characters of C are bytes.
        str::from_utf8(unsafe { list(text.as_ptr().cast(), text.len()) }).ok()
    }
}

/// What each type is called, and how it is read.
macro_rules! values {
    ($($ty:ty = $name:literal, |$reader:ident| $read:expr;)*) => {
        $(impl<'a> AttributeValue<'a> for $ty {
            const TYPE: &'static str = $name;

            fn read($reader: Reader<'a>) -> Option<Self> {
                $read
            }
        })*
    };
}

values! {
    bool = "a bool", |reader| reader.one(|api| api.get_bool).map(|value| value != 0);
    i64 = "an int", |reader| reader.one(|api| api.get_int);
    f32 = "a float", |reader| reader.one(|api| api.get_float);
    &'a str = "a text", |reader| reader.text();
    &'a [i64] = "a list of ints", |reader| reader.list(|api| api.get_ints);
    &'a [f32] = "a list of floats", |reader| reader.list(|api| api.get_floats);
    Vec<&'a [i64]> = "a list of lists of ints", |reader| reader.rows(|api| api.get_int_rows);
    Vec<&'a [f32]> = "a list of lists of floats", |reader| reader.rows(|api| api.get_float_rows);
}
