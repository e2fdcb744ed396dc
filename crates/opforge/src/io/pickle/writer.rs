//! Pickles as bytes, in protocol 2: the instructions that make their objects again.

use std::collections::HashMap;

use super::MAX_DEPTH;
use super::globals::{dtype_name, storage_class};
use super::object::{Id, Map, Object, StorageName, Stored};
use super::save::Encoded;
use crate::{Error, Result};

/// The pickle of the object `root`.
///
/// # Errors
/// Objects nested too deeply, texts and bytes that are too long.
pub(super) fn pickle(encoded: &Encoded, root: Id) -> Result<Vec<u8>> {
    let mut writer = Writer { out: vec![0x80, 2], memo: HashMap::new(), encoded };
    writer.object(root, 0)?;
    writer.out.push(b'.');
    Ok(writer.out)
}

/// A pickle's instructions, as they are written.
struct Writer<'a> {
    out: Vec<u8>,
    /// Objects that are named again: places of the memo.
    memo: HashMap<Id, u32>,
    encoded: &'a Encoded,
}

impl Writer<'_> {
    fn object(&mut self, id: Id, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::value("save", "obj", "containers nested too deeply", format!("{MAX_DEPTH} levels")));
        }
        if let Some(&place) = self.memo.get(&id) {
            self.out.push(b'j');
            self.out.extend(place.to_le_bytes());
            return Ok(());
        }
        let below = depth + 1;
        match self.encoded.object(id) {
            Object::None => self.out.push(b'N'),
            Object::Bool(flag) => self.out.push(if *flag { 0x88 } else { 0x89 }),
            Object::Int(n) => self.int(*n),
            Object::Long(bytes) => match u8::try_from(bytes.len()) {
                Ok(len) => {
                    self.out.extend([0x8a, len]);
                    self.out.extend(bytes);
                }
                Err(_) => self.sized(0x8b, bytes)?,
            },
            Object::Float(x) => {
                self.out.push(b'G');
                self.out.extend(x.to_be_bytes());
            }
            Object::Complex(re, im) => {
                self.name("__builtin__", "complex");
                [*re, *im].into_iter().for_each(|x| {
                    self.out.push(b'G');
                    self.out.extend(x.to_be_bytes());
                });
                self.out.extend([0x86, b'R']);
            }
            Object::Text(text) => {
                self.sized(b'X', text.as_bytes())?;
                self.remember(id);
            }
            Object::Bytes(bytes) => self.bytes(bytes)?,
            Object::List(items) => {
                self.out.push(b']');
                self.remember(id);
                self.marked(items, below)?;
                self.out.push(b'e');
            }
            Object::Tuple(items) => {
                self.marked(items, below)?;
                self.out.push(b't');
                self.remember(id);
            }
            Object::Set(items) => self.made_of_list("set", items, below)?,
            Object::FrozenSet(items) => self.made_of_list("frozenset", items, below)?,
            Object::Map { map, entries, attributes } => {
                match map {
                    Map::Dict => self.out.push(b'}'),
                    Map::Ordered => self.call_of_nothing("collections", "OrderedDict"),
                    Map::Counter => self.call_of_nothing("collections", "Counter"),
                }
                self.remember(id);
                let flat: Vec<Id> = entries.iter().flat_map(|&(key, value)| [key, value]).collect();
                self.marked(&flat, below)?;
                self.out.push(b'u');
                if let Some(attributes) = attributes {
                    self.object(*attributes, below)?;
                    self.out.push(b'b');
                }
            }
            Object::Size(sizes) => {
                self.name("torch", "Size");
                self.ints(sizes.iter().copied());
                self.out.extend([0x85, b'R']);
            }
            Object::DType(dtype) => self.name("torch", dtype_name(*dtype)),
            Object::Device(name) => {
                self.name("torch", "device");
                self.sized(b'X', name.as_bytes())?;
                self.out.extend([0x85, b'R']);
            }
            Object::Name(module, name) => self.name(module, name),
            Object::Storage(storage) => self.storage(storage)?,
            Object::Tensor(tensor) => {
                self.tensor(tensor, below)?;
                self.remember(id);
            }
            Object::Array { dtype, shape, fortran_order, bytes } => {
                self.array(dtype, shape.as_deref(), *fortran_order, bytes)?;
                self.remember(id);
            }
            Object::ArrayDType(dtype) => self.array_dtype(dtype)?,
            Object::Meta { dtype, shape, stride, requires_grad } => {
                self.name("torch._utils", "_rebuild_meta_tensor_no_storage");
                self.out.push(b'(');
                self.name("torch", dtype_name(*dtype));
                self.ints(shape.iter().map(|&n| n as i64));
                self.ints(stride.iter().map(|&n| n as i64));
                self.out.extend([if *requires_grad { 0x88 } else { 0x89 }, b't', b'R']);
                self.remember(id);
            }
        }
        Ok(())
    }

    /// The object on top may be named again.
    fn remember(&mut self, id: Id) {
        let place = self.memo.len() as u32;
        self.memo.insert(id, place);
        self.out.push(b'r');
        self.out.extend(place.to_le_bytes());
    }

    fn int(&mut self, n: i64) {
        match i32::try_from(n) {
            Ok(n) => {
                self.out.push(b'J');
                self.out.extend(n.to_le_bytes());
            }
            Err(_) => {
                self.out.extend([0x8a, 8]);
                self.out.extend(n.to_le_bytes());
            }
        }
    }

    fn ints(&mut self, numbers: impl Iterator<Item = i64>) {
        self.out.push(b'(');
        numbers.for_each(|n| self.int(n));
        self.out.push(b't');
    }

    fn sized(&mut self, instruction: u8, bytes: &[u8]) -> Result<()> {
        let len = u32::try_from(bytes.len()).ok().filter(|&len| len <= i32::MAX as u32);
        let len = len.ok_or_else(|| Error::value("save", "obj", bytes.len(), "texts and bytes of less than 2 GiB"))?;
        self.out.push(instruction);
        self.out.extend(len.to_le_bytes());
        self.out.extend(bytes);
        Ok(())
    }

    /// Protocol 2 has no bytes: a text whose characters they are, and how it was encoded.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.name("_codecs", "encode");
        let text: String = bytes.iter().copied().map(char::from).collect();
        self.sized(b'X', text.as_bytes())?;
        self.sized(b'X', b"latin1")?;
        self.out.extend([0x86, b'R']);
        Ok(())
    }

    /// As numpy takes its arrays and scalars apart.
    fn array(&mut self, dtype: &str, shape: Option<&[usize]>, fortran_order: bool, bytes: &[u8]) -> Result<()> {
        let Some(shape) = shape else {
            self.name("numpy._core.multiarray", "scalar");
            self.array_dtype(dtype)?;
            self.bytes(bytes)?;
            self.out.extend([0x86, b'R']);
            return Ok(());
        };
        self.name("numpy._core.multiarray", "_reconstruct");
        self.name("numpy", "ndarray");
        self.ints([0].into_iter());
        self.bytes(b"b")?;
        self.out.extend([0x87, b'R', b'(']);
        self.int(1);
        self.ints(shape.iter().map(|&n| n as i64));
        self.array_dtype(dtype)?;
        self.out.push(if fortran_order { 0x88 } else { 0x89 });
        self.bytes(bytes)?;
        self.out.extend([b't', b'b']);
        Ok(())
    }

    fn array_dtype(&mut self, dtype: &str) -> Result<()> {
        let (order, name) = dtype.split_at_checked(1).unwrap_or(("<", dtype));
        self.name("numpy", "dtype");
        self.sized(b'X', name.as_bytes())?;
        self.out.extend([0x89, 0x88, 0x87, b'R', b'(']);
        self.int(3);
        self.sized(b'X', order.as_bytes())?;
        self.out.extend([b'N'; 3]);
        [-1, -1, 0].into_iter().for_each(|n| self.int(n));
        self.out.extend([b't', b'b']);
        Ok(())
    }

    fn name(&mut self, module: &str, name: &str) {
        self.out.push(b'c');
        self.out.extend(format!("{module}\n{name}\n").bytes());
    }

    fn call_of_nothing(&mut self, module: &str, name: &str) {
        self.name(module, name);
        self.out.extend([b')', b'R']);
    }

    fn marked(&mut self, items: &[Id], depth: usize) -> Result<()> {
        self.out.push(b'(');
        items.iter().try_for_each(|&item| self.object(item, depth))
    }

    fn made_of_list(&mut self, name: &str, items: &[Id], depth: usize) -> Result<()> {
        self.name("__builtin__", name);
        self.out.push(b']');
        self.marked(items, depth)?;
        self.out.extend([b'e', 0x85, b'R']);
        Ok(())
    }

    /// `("storage", class, key, location, length)`, as a persistent name.
    fn storage(&mut self, storage: &StorageName) -> Result<()> {
        self.out.push(b'(');
        self.sized(b'X', b"storage")?;
        let written = self.encoded.reached(storage).len();
        let (class, len) = match storage_class(storage.dtype) {
            Some(class) => (("torch", class), written),
            None => (("torch.storage", "UntypedStorage"), written * storage.dtype.size_in_bytes()),
        };
        self.name(class.0, class.1);
        self.sized(b'X', storage.key.as_bytes())?;
        self.sized(b'X', storage.location.as_bytes())?;
        self.int(len as i64);
        self.out.extend([b't', b'Q']);
        Ok(())
    }

    fn tensor(&mut self, tensor: &Stored, depth: usize) -> Result<()> {
        if tensor.is_parameter {
            self.name("torch._utils", "_rebuild_parameter");
            self.out.push(b'(');
        }
        let is_typed = storage_class(tensor.dtype).is_some();
        self.name("torch._utils", if is_typed { "_rebuild_tensor_v2" } else { "_rebuild_tensor_v3" });
        self.out.push(b'(');
        self.object(tensor.storage, depth)?;
        let start = match self.encoded.object(tensor.storage) {
            Object::Storage(storage) => self.encoded.reached(storage).start,
            _ => 0,
        };
        self.int(tensor.offset.saturating_sub(start) as i64);
        self.ints(tensor.shape.iter().map(|&n| n as i64));
        self.ints(tensor.stride.iter().map(|&n| n as i64));
        let flag = |flag: bool| if flag { 0x88 } else { 0x89 };
        self.out.push(flag(tensor.requires_grad && !tensor.is_parameter));
        self.call_of_nothing("collections", "OrderedDict");
        if !is_typed {
            self.name("torch", dtype_name(tensor.dtype));
        }
        self.out.extend([b't', b'R']);
        if tensor.is_parameter {
            self.out.push(flag(tensor.requires_grad));
            self.call_of_nothing("collections", "OrderedDict");
            self.out.extend([b't', b'R']);
        }
        Ok(())
    }
}
