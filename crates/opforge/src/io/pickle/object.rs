//! What pickles hold: objects that name each other by number, since the same one may be in several places.

use std::fmt::{self, Debug};

use super::FORMAT;
use crate::{DType, Error, Result};

/// The number of an object.
pub type Id = usize;

/// A mapping's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// `dict`.
    Dict,
    /// `collections.OrderedDict`.
    Ordered,
    /// `collections.Counter`.
    Counter,
}

/// A value of a pickle.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that does not fit: two's complement, lowest byte first.
    Long(Vec<u8>),
    /// A number.
    Float(f64),
    /// A complex number's parts.
    Complex(f64, f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// `list`.
    List(Vec<Id>),
    /// `tuple`.
    Tuple(Vec<Id>),
    /// `set`.
    Set(Vec<Id>),
    /// `frozenset`.
    FrozenSet(Vec<Id>),
    /// A mapping.
    Map {
        /// Its type.
        map: Map,
        /// Keys and values, in order.
        entries: Vec<(Id, Id)>,
        /// A mapping of attributes that were set on it.
        attributes: Option<Id>,
    },
    /// `torch.Size`.
    Size(Vec<i64>),
    /// `torch.dtype`.
    DType(DType),
    /// `torch.device`, as Python names it.
    Device(String),
    /// A function or class by its module's name and its own: nothing but its name is known.
    Name(String, String),
    /// Memory of tensors.
    Storage(StorageName),
    /// A tensor.
    Tensor(Stored),
    /// An array of numpy's, or with no `shape` one of its scalars: the dtype as numpy writes it, and the elements' bytes.
    Array {
        /// Byte order, kind and size, such as `<f8`.
        dtype: String,
        /// Its shape.
        shape: Option<Vec<usize>>,
        /// Whether the first index runs fastest.
        fortran_order: bool,
        /// The elements.
        bytes: Vec<u8>,
    },
    /// A dtype of numpy's numbers.
    ArrayDType(String),
    /// A tensor without elements.
    Meta {
        /// What they would be.
        dtype: DType,
        /// Its shape.
        shape: Vec<usize>,
        /// Its strides.
        stride: Vec<usize>,
        /// Whether it asks for a gradient.
        requires_grad: bool,
    },
}

/// Memory of tensors in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageName {
    /// Its name in the file.
    pub key: String,
    /// What its elements are; of an untyped one, bytes.
    pub dtype: DType,
    /// The number of elements.
    pub len: usize,
    /// Where it begins within the memory of that name.
    pub start: usize,
    /// The device that it was on, by PyTorch's name: `cpu`, `cuda:0`.
    pub location: String,
}

/// A tensor in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The object that is its [`Object::Storage`].
    pub storage: Id,
    /// What its elements are.
    pub dtype: DType,
    /// Where it begins, in elements.
    pub offset: usize,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its strides.
    pub stride: Vec<usize>,
    /// Whether it asks for a gradient.
    pub requires_grad: bool,
    /// Whether it is a `torch.nn.Parameter`.
    pub is_parameter: bool,
    /// Whether its elements are the conjugates of those in memory, and whether they are their negatives: PyTorch's bits of views.
    pub is_conj: bool,
    /// See `is_conj`.
    pub is_neg: bool,
}

impl Object {
    /// What it is, in a word.
    pub fn kind(&self) -> String {
        match self {
            Object::Name(module, name) => format!("{module}.{name}"),
            Object::Map { .. } => "a mapping".to_owned(),
            Object::Storage(_) => "a storage".to_owned(),
            Object::Tensor(_) | Object::Meta { .. } => "a tensor".to_owned(),
            Object::Array { .. } => "an array".to_owned(),
            Object::Text(_) => "a text".to_owned(),
            Object::List(_) | Object::Tuple(_) | Object::Size(_) => "a sequence".to_owned(),
            other => format!("{other:?}"),
        }
    }
}

/// The objects of a pickle.
#[derive(Clone, PartialEq)]
pub struct Pickle {
    pub(super) objects: Vec<Object>,
    pub(super) root: Id,
}

impl Debug for Pickle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pickle({} objects, {:?})", self.objects.len(), self.object(self.root))
    }
}

impl Pickle {
    /// The object that all others belong to.
    pub fn root(&self) -> Id {
        self.root
    }

    /// How many objects there are.
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// An object.
    ///
    /// # Panics
    /// For a number that is no object's of this pickle.
    pub fn object(&self, id: Id) -> &Object {
        &self.objects[id]
    }

    /// The value under a key that is a text.
    pub fn get(&self, map: Id, key: &str) -> Option<Id> {
        let Object::Map { entries, .. } = self.object(map) else { return None };
        let is_key = |&&(k, _): &&(Id, Id)| matches!(self.object(k), Object::Text(text) if text == key);
        entries.iter().rev().find(is_key).map(|&(_, value)| value)
    }

    pub(super) fn items(&self, id: Id) -> Result<&[Id]> {
        match self.object(id) {
            Object::Tuple(items) | Object::List(items) => Ok(items),
            other => Err(unexpected(other, "a tuple or a list")),
        }
    }

    pub(super) fn text(&self, id: Id) -> Result<&str> {
        match self.object(id) {
            Object::Text(text) => Ok(text),
            other => Err(unexpected(other, "a text")),
        }
    }

    pub(super) fn flag(&self, id: Id) -> Result<bool> {
        match self.object(id) {
            Object::Bool(flag) => Ok(*flag),
            other => Err(unexpected(other, "True or False")),
        }
    }

    pub(super) fn dtype(&self, id: Id) -> Result<DType> {
        match self.object(id) {
            Object::DType(dtype) => Ok(*dtype),
            other => Err(unexpected(other, "a dtype")),
        }
    }

    pub(super) fn natural(&self, id: Id) -> Result<usize> {
        match self.object(id) {
            Object::Int(n) if *n >= 0 => Ok(*n as usize),
            other => Err(unexpected(other, "a whole number of 0 or more")),
        }
    }

    pub(super) fn naturals(&self, id: Id) -> Result<Vec<usize>> {
        match self.object(id) {
            Object::Size(sizes) => {
                let natural = |&n: &i64| usize::try_from(n).map_err(|_| unexpected(&Object::Int(n), "0 or more"));
                sizes.iter().map(natural).collect()
            }
            _ => self.items(id)?.iter().map(|&item| self.natural(item)).collect(),
        }
    }
}

pub(super) fn unexpected(given: &Object, accepted: &str) -> Error {
    Error::format(FORMAT, format!("{}, expected {accepted}", given.kind()))
}
