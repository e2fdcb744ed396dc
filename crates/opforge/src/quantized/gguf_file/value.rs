//! Values that files have beside tensors.

use std::io::{Read, Seek, Write};

use super::bad;
use super::input::Input;
use crate::Result;

/// Lists within lists deeper than this are not believed.
const MAX_DEPTH: usize = 8;

macro_rules! values {
    ($($variant:ident($ty:ty) = $number:literal, $to:ident;)*) => {
        /// What kind a [`Value`] is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum ValueType { $($variant,)* Bool, String, Array }

        /// A value that a file has under a name.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum Value { $($variant($ty),)* Bool(bool), String(String), Array(Vec<Value>) }

        impl Value {
            /// Its kind.
            pub fn value_type(&self) -> ValueType {
                match self {
                    $(Value::$variant(_) => ValueType::$variant,)*
                    Value::Bool(_) => ValueType::Bool,
                    Value::String(_) => ValueType::String,
                    Value::Array(_) => ValueType::Array,
                }
            }

            $(#[doc = concat!("The number, which is of the kind ", stringify!($variant), ".")]
            ///
            /// # Errors
            /// [`Error::Format`](crate::Error::Format) for another kind.
            pub fn $to(&self) -> Result<$ty> {
                match self {
                    Value::$variant(value) => Ok(*value),
                    other => Err(other.unexpected(ValueType::$variant)),
                }
            })*

            /// A value of a kind, at a depth of lists.
            pub(super) fn read<R: Read + Seek>(kind: ValueType, input: &mut Input<'_, R>, depth: usize) -> Result<Value> {
                Ok(match kind {
                    $(ValueType::$variant => Value::$variant(<$ty>::from_le_bytes(input.array()?)),)*
                    ValueType::Bool => match input.array()? {
                        [byte @ 0..=1] => Value::Bool(byte == 1),
                        [byte] => return Err(bad(format!("{byte} as a truth value"))),
                    },
                    ValueType::String => Value::String(input.text()?),
                    ValueType::Array => Value::Array(read_list(input, depth)?),
                })
            }

            /// Writes the value without its kind.
            pub(super) fn write(&self, out: &mut impl Write) -> Result<()> {
                match self {
                    $(Value::$variant(value) => out.write_all(&value.to_le_bytes())?,)*
                    Value::Bool(value) => out.write_all(&[u8::from(*value)])?,
                    Value::String(text) => write_text(text, out)?,
                    Value::Array(values) => write_list(values, out)?,
                }
                Ok(())
            }
        }

        impl ValueType {
            /// The number of the kind in files.
            pub(super) fn number(self) -> u32 {
                match self {
                    $(ValueType::$variant => $number,)*
                    ValueType::Bool => 7,
                    ValueType::String => 8,
                    ValueType::Array => 9,
                }
            }

            pub(super) fn of_number(number: u32) -> Result<Self> {
                Ok(match number {
                    $($number => ValueType::$variant,)*
                    7 => ValueType::Bool,
                    8 => ValueType::String,
                    9 => ValueType::Array,
                    other => return Err(bad(format!("kind {other} of values is not known"))),
                })
            }

            /// The fewest bytes of one.
            fn least(self, length: u64) -> u64 {
                match self {
                    $(ValueType::$variant => size_of::<$ty>() as u64,)*
                    ValueType::Bool => 1,
                    ValueType::String => length,
                    ValueType::Array => 4 + length,
                }
            }
        }
    };
}
values! {
    U8(u8) = 0, to_u8;
    I8(i8) = 1, to_i8;
    U16(u16) = 2, to_u16;
    I16(i16) = 3, to_i16;
    U32(u32) = 4, to_u32;
    I32(i32) = 5, to_i32;
    U64(u64) = 10, to_exact_u64;
    I64(i64) = 11, to_i64;
    F32(f32) = 6, to_f32;
    F64(f64) = 12, to_f64;
}

impl Value {
    /// The number, of any unsigned kind, or 0 or 1 for a truth value.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for another kind.
    pub fn to_u64(&self) -> Result<u64> {
        match *self {
            Value::U8(value) => Ok(value.into()),
            Value::U16(value) => Ok(value.into()),
            Value::U32(value) => Ok(value.into()),
            Value::Bool(value) => Ok(value.into()),
            _ => self.to_exact_u64(),
        }
    }

    /// The truth value.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for another kind.
    pub fn to_bool(&self) -> Result<bool> {
        match self {
            Value::Bool(value) => Ok(*value),
            other => Err(other.unexpected(ValueType::Bool)),
        }
    }

    /// The list.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for another kind.
    pub fn to_vec(&self) -> Result<&Vec<Value>> {
        match self {
            Value::Array(values) => Ok(values),
            other => Err(other.unexpected(ValueType::Array)),
        }
    }

    /// The text. It is `Display`'s name for another thing, but candle's.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for another kind.
    #[allow(clippy::inherent_to_string)]
    pub fn to_string(&self) -> Result<&String> {
        match self {
            Value::String(text) => Ok(text),
            other => Err(other.unexpected(ValueType::String)),
        }
    }

    fn unexpected(&self, expected: ValueType) -> crate::Error {
        bad(format!("a value is {:?}, not {expected:?}", self.value_type()))
    }
}

fn read_list<R: Read + Seek>(input: &mut Input<'_, R>, depth: usize) -> Result<Vec<Value>> {
    if depth == MAX_DEPTH {
        return Err(bad(format!("lists within lists, more than {MAX_DEPTH}")));
    }
    let kind = ValueType::of_number(input.u32()?)?;
    let length = if input.is_wide { 8 } else { 4 };
    let count = input.count(kind.least(length), "values")?;
    opforge_runtime::alloc::check_available(count.saturating_mul(size_of::<Value>()))?;
    (0..count).map(|_| Value::read(kind, input, depth + 1)).collect()
}

fn write_list(values: &[Value], out: &mut impl Write) -> Result<()> {
    let kind = values.first().map_or(ValueType::U32, Value::value_type);
    if let Some(other) = values.iter().find(|value| value.value_type() != kind) {
        return Err(other.unexpected(kind));
    }
    out.write_all(&kind.number().to_le_bytes())?;
    out.write_all(&(values.len() as u64).to_le_bytes())?;
    values.iter().try_for_each(|value| value.write(out))
}

/// Writes a text with its length before it.
pub(super) fn write_text(text: &str, out: &mut impl Write) -> Result<()> {
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    Ok(out.write_all(text.as_bytes())?)
}
