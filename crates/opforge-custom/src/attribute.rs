//! Attributes: what an operator knows besides its tensors.

use std::ffi::{CString, c_void};
use std::fmt;
use std::hash::{Hash, Hasher};

use opforge_core::{Error, Result};

use crate::abi::RawAttribute;

/// An attribute's value, of one of the eight types that kernels read.
#[derive(Debug, Clone, PartialEq, opforge::operator::Attributes)]
pub enum Attribute {
    /// `Attr<bool>`
    Bool(bool),
    /// `Attr<int64_t>`
    Int(i64),
    /// `Attr<float>`
    Float(f32),
    /// `Attr<std::string>`
    Text(String),
    /// `Attr<std::vector<int64_t>>`
    Ints(Vec<i64>),
    /// `Attr<std::vector<float>>`
    Floats(Vec<f32>),
    /// `Attr<std::vector<std::vector<int64_t>>>`
    IntRows(Vec<Vec<i64>>),
    /// `Attr<std::vector<std::vector<float>>>`
    FloatRows(Vec<Vec<f32>>),
}

/// The types of [`Attribute`], in the order of the binary interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum AttributeType {
    Bool,
    Int,
    Float,
    Text,
    Ints,
    Floats,
    IntRows,
    FloatRows,
}

impl AttributeType {
    /// The types with their names in schemas, in order.
    pub(crate) const NAMES: [(AttributeType, &str); 8] = [
        (AttributeType::Bool, "bool"),
        (AttributeType::Int, "int"),
        (AttributeType::Float, "float"),
        (AttributeType::Text, "str"),
        (AttributeType::Ints, "int[]"),
        (AttributeType::Floats, "float[]"),
        (AttributeType::IntRows, "int[][]"),
        (AttributeType::FloatRows, "float[][]"),
    ];
}

// `Display` finds a type's name by its number.
const _: () = {
    let mut i = 0;
    while i < AttributeType::NAMES.len() {
        assert!(AttributeType::NAMES[i].0 as usize == i);
        i += 1;
    }
};

impl Attribute {
    /// The value's type.
    pub fn ty(&self) -> AttributeType {
        match self {
            Attribute::Bool(_) => AttributeType::Bool,
            Attribute::Int(_) => AttributeType::Int,
            Attribute::Float(_) => AttributeType::Float,
            Attribute::Text(_) => AttributeType::Text,
            Attribute::Ints(_) => AttributeType::Ints,
            Attribute::Floats(_) => AttributeType::Floats,
            Attribute::IntRows(_) => AttributeType::IntRows,
            Attribute::FloatRows(_) => AttributeType::FloatRows,
        }
    }

    /// The value as another type that holds it exactly enough: whole numbers as floats, empty lists as lists of anything.
    pub fn to_type(&self, ty: AttributeType) -> Option<Attribute> {
        use Attribute::*;
        Some(match (self, ty) {
            (value, ty) if value.ty() == ty => value.clone(),
            (Int(i), AttributeType::Float) => Float(*i as f32),
            (Ints(list), AttributeType::Floats) => Floats(list.iter().map(|&i| i as f32).collect()),
            (Ints(list), AttributeType::IntRows) if list.is_empty() => IntRows(vec![]),
            (Ints(list), AttributeType::FloatRows) if list.is_empty() => FloatRows(vec![]),
            (IntRows(rows), AttributeType::FloatRows) => {
                FloatRows(rows.iter().map(|row| row.iter().map(|&i| i as f32).collect()).collect())
            }
            _ => return None,
        })
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize].1)
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Bool(value) => write!(f, "{value}"),
            Attribute::Int(value) => write!(f, "{value}"),
            Attribute::Float(value) => write!(f, "{value:?}"),
            Attribute::Text(value) => write!(f, "{value:?}"),
            Attribute::Ints(value) => write!(f, "{value:?}"),
            Attribute::Floats(value) => write!(f, "{value:?}"),
            Attribute::IntRows(value) => write!(f, "{value:?}"),
            Attribute::FloatRows(value) => write!(f, "{value:?}"),
        }
    }
}

/// Rust types as the attributes that hold them.
macro_rules! from {
    ($($ty:ty => $variant:ident($value:ident => $convert:expr)),* $(,)?) => {
        $(impl From<$ty> for Attribute {
            fn from($value: $ty) -> Self {
                Attribute::$variant($convert)
            }
        })*
    };
}

from! {
    bool => Bool(b => b),
    i64 => Int(i => i),
    i32 => Int(i => i.into()),
    u32 => Int(i => i.into()),
    f32 => Float(x => x),
    f64 => Float(x => x as f32),
    &str => Text(text => text.to_owned()),
    String => Text(text => text),
    Vec<i64> => Ints(list => list),
    &[i64] => Ints(list => list.to_vec()),
    Vec<f32> => Floats(list => list),
    &[f32] => Floats(list => list.to_vec()),
    Vec<Vec<i64>> => IntRows(rows => rows),
    Vec<Vec<f32>> => FloatRows(rows => rows),
}

impl Eq for Attribute {}

impl Hash for Attribute {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        let bits = |x: &f32| (x + 0.0).to_bits();
        match self {
            Attribute::Bool(value) => value.hash(state),
            Attribute::Int(value) => value.hash(state),
            Attribute::Float(value) => bits(value).hash(state),
            Attribute::Text(value) => value.hash(state),
            Attribute::Ints(value) => value.hash(state),
            Attribute::Floats(value) => value.iter().for_each(|x| bits(x).hash(state)),
            Attribute::IntRows(value) => value.hash(state),
            Attribute::FloatRows(value) => value.iter().flatten().for_each(|x| bits(x).hash(state)),
        }
    }
}

/// An operator's attributes by name, in the form in which kernels read them too.
pub struct Attributes {
    values: Vec<(String, Attribute)>,
    raw: Vec<RawAttribute>,
    /// What `raw` points to besides `values`.
    _names: Vec<CString>,
    _copies: Vec<Copied>,
}

/// Values in the form in which kernels read them, where that is not the value's own: rows laid end to end and where each begins, or a text
/// with a zero behind it.
enum Copied {
    Ints(Vec<i64>, Vec<usize>),
    Floats(Vec<f32>, Vec<usize>),
    Text(Vec<u8>),
}

impl Copied {
    fn parts(&self) -> (*const c_void, *const usize) {
        match self {
            Copied::Ints(values, offsets) => (values.as_ptr().cast(), offsets.as_ptr()),
            Copied::Floats(values, offsets) => (values.as_ptr().cast(), offsets.as_ptr()),
            Copied::Text(bytes) => (bytes.as_ptr().cast(), std::ptr::null()),
        }
    }
}

// SAFETY: the pointers lead into vectors that the value owns and never changes.
unsafe impl Send for Attributes {}
// SAFETY: nothing is changed through the pointers, which lead into vectors that the value owns.
unsafe impl Sync for Attributes {}

impl Attributes {
    /// These attributes.
    ///
    /// # Errors
    /// For a name with a zero byte.
    pub fn new(op: &str, values: Vec<(String, Attribute)>) -> Result<Self> {
        let mut made = Attributes { raw: Vec::new(), _names: Vec::new(), _copies: Vec::new(), values };
        for (name, value) in &made.values {
            let accepted = "a name without zero bytes";
            let c_name = CString::new(name.as_str())
                .map_err(|_| Error::value(op.to_owned(), "attribute", format!("{name:?}"), accepted))?;
            let (values, count, offsets) = parts(value, &mut made._copies);
            made.raw.push(RawAttribute { name: c_name.as_ptr(), kind: value.ty() as u32, values, count, offsets });
            made._names.push(c_name);
        }
        Ok(made)
    }

    /// The attributes in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    pub(crate) fn raw(&self) -> &[RawAttribute] {
        &self.raw
    }

    pub(crate) fn values(&self) -> &[(String, Attribute)] {
        &self.values
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Where a value lies in memory: the numbers, how many, and where rows begin.
fn parts(value: &Attribute, copies: &mut Vec<Copied>) -> (*const c_void, usize, *const usize) {
    let none = std::ptr::null();
    let (count, copied) = match value {
        Attribute::Bool(value) => return (std::ptr::from_ref(value).cast(), 1, none),
        Attribute::Int(value) => return (std::ptr::from_ref(value).cast(), 1, none),
        Attribute::Float(value) => return (std::ptr::from_ref(value).cast(), 1, none),
        Attribute::Ints(value) => return (value.as_ptr().cast(), value.len(), none),
        Attribute::Floats(value) => return (value.as_ptr().cast(), value.len(), none),
        Attribute::Text(value) => (value.len(), Copied::Text([value.as_bytes(), &[0]].concat())),
        Attribute::IntRows(value) => (value.len(), Copied::Ints(value.concat(), row_offsets(value))),
        Attribute::FloatRows(value) => (value.len(), Copied::Floats(value.concat(), row_offsets(value))),
    };
    let (values, offsets) = copied.parts();
    copies.push(copied);
    (values, count, offsets)
}

/// Where each row begins when rows are laid end to end, and the end of the last.
pub(crate) fn row_offsets<T>(rows: &[Vec<T>]) -> Vec<usize> {
    let ends = rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}
