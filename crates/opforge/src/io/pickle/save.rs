//! Checkpoints as PyTorch writes them: a zip archive of a pickle, in protocol 2, and a file for each storage, aligned to 64 bytes.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use zip::write::{FileOptions, SimpleFileOptions};
use zip::{CompressionMethod, ZipWriter};

use super::globals::{dtype_name, storage_class};
use super::object::{Id, Map, Object, StorageName, Stored};
use super::{FORMAT, MAX_DEPTH};
use crate::io::bytes::write_elements;
use crate::io::replace::replace;
use crate::{DType, Error, Result, Tensor};

/// Where the parts of an archive begin, so that storages can be mapped.
const ALIGNMENT: u16 = 64;

/// A pickle that is built to be written: its objects, and the tensors behind its storages.
#[derive(Default)]
pub struct Encoded {
    objects: Vec<Object>,
    /// The storages, whose keys are their numbers.
    memory: Vec<Memory>,
    /// The storages that there are, by address and dtype: objects, and places in `memory`.
    known: HashMap<(usize, DType), (Id, usize)>,
}

/// A storage, of which no more is written than its tensors reach.
struct Memory {
    /// All elements as a vector.
    all: Tensor,
    reached: Range<usize>,
}

impl Memory {
    fn written(&self) -> Result<Tensor> {
        let Range { start, end } = self.reached;
        self.all.narrow(0, start.min(end), end - start.min(end))
    }
}

impl Encoded {
    /// Adds an object, whose parts have been added.
    pub fn add(&mut self, object: Object) -> Id {
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// Replaces an object.
    pub fn set(&mut self, id: Id, object: Object) {
        self.objects[id] = object;
    }

    /// A tensor as an object that is to be added. Tensors that share memory, and a dtype, share a storage.
    ///
    /// # Errors
    /// [`Error::Layout`](crate::Error) for layouts that do not fit the memory as elements of the dtype.
    pub fn tensor(&mut self, tensor: &Tensor, requires_grad: bool, is_parameter: bool) -> Result<Object> {
        let (storage, dtype, layout) = (tensor.storage(), tensor.dtype(), tensor.layout());
        let key = (Arc::as_ptr(storage).addr(), dtype);
        let (id, place) = match self.known.get(&key) {
            Some(&known) => known,
            None => {
                let len = storage.nbytes() / dtype.size_in_bytes();
                let all = Tensor::over_storage(storage.clone(), dtype, crate::Layout::contiguous(len))?;
                let place = self.memory.len();
                self.memory.push(Memory { all, reached: len..0 });
                let location = if tensor.device().is_cuda() { tensor.device().name() } else { "cpu" }.to_owned();
                let name = StorageName { key: place.to_string(), dtype, len, start: 0, location };
                let id = self.add(Object::Storage(name));
                *self.known.entry(key).or_insert((id, place))
            }
        };
        if layout.shape().elem_count() > 0 {
            let reached = &mut self.memory[place].reached;
            *reached = reached.start.min(layout.start_offset())..reached.end.max(layout.span());
        }
        Ok(Object::Tensor(Stored {
            storage: id,
            dtype,
            offset: layout.start_offset(),
            shape: layout.dims().to_vec(),
            stride: layout.stride().to_vec(),
            requires_grad,
            is_parameter,
            is_conj: false,
            is_neg: false,
        }))
    }

    /// Writes the archive of the object `root`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io); objects nested too deeply.
    pub fn write(self, root: Id, path: &Path) -> Result<()> {
        let name = path.file_stem().map_or("archive".into(), |stem| stem.to_string_lossy().into_owned());
        replace(path, |out| {
            // The archive's directory is written at its end, from where the entries began.
            self.archive(ZipWriter::new(out), root, &name).map(drop)
        })
    }

    fn archive<W: Write + Seek>(&self, mut zip: ZipWriter<W>, root: Id, name: &str) -> Result<W> {
        let mut pickle = Writer { out: Vec::new(), memo: HashMap::new(), encoded: self };
        pickle.out.extend([0x80, 2]);
        pickle.object(root, 0)?;
        pickle.out.push(b'.');
        let mut entry = |path: &str, bytes: usize, write: &mut dyn FnMut(&mut ZipWriter<W>) -> Result<()>| {
            zip.start_file(format!("{name}/{path}"), stored(bytes)).map_err(zip_error)?;
            write(&mut zip)
        };
        entry("data.pkl", pickle.out.len(), &mut |zip| Ok(zip.write_all(&pickle.out)?))?;
        entry("byteorder", 6, &mut |zip| Ok(zip.write_all(b"little")?))?;
        for (key, memory) in self.memory.iter().enumerate() {
            let tensor = memory.written()?;
            let bytes = tensor.elem_count() * tensor.dtype().size_in_bytes();
            entry(&format!("data/{key}"), bytes, &mut |zip| write_elements(&tensor, zip))?;
        }
        entry("version", 2, &mut |zip| Ok(zip.write_all(b"3\n")?))?;
        zip.finish().map_err(zip_error)
    }
}

fn stored(bytes: usize) -> SimpleFileOptions {
    FileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(bytes >= 1 << 31)
        .with_alignment(ALIGNMENT)
}

fn zip_error(error: zip::result::ZipError) -> Error {
    Error::format(FORMAT, error)
}

/// Writes the tensors as a mapping of their names, which PyTorch's `torch.load` reads.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io).
pub fn save<S: AsRef<str>, T: AsRef<Tensor>, P: AsRef<Path>>(tensors: &[(S, T)], path: P) -> Result<()> {
    let (encoded, root) = named(tensors)?;
    encoded.write(root, path.as_ref())
}

/// As [`save`], to bytes.
///
/// # Errors
/// As [`save`].
pub fn to_bytes(encoded: Encoded, root: Id) -> Result<Vec<u8>> {
    let zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    Ok(encoded.archive(zip, root, "archive")?.into_inner())
}

fn named<S: AsRef<str>, T: AsRef<Tensor>>(tensors: &[(S, T)]) -> Result<(Encoded, Id)> {
    let mut encoded = Encoded::default();
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let tensor = encoded.tensor(tensor.as_ref(), false, false)?;
        entries.push((encoded.add(Object::Text(name.as_ref().to_owned())), encoded.add(tensor)));
    }
    let root = encoded.add(Object::Map { map: Map::Dict, entries, attributes: None });
    Ok((encoded, root))
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
        match &self.encoded.objects[id] {
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

    /// The part of a storage that is written.
    fn reached(&self, storage: &StorageName) -> Range<usize> {
        let place: usize = storage.key.parse().expect("a place in memory");
        let Range { start, end } = self.encoded.memory[place].reached;
        start.min(end)..end
    }

    /// `("storage", class, key, location, length)`, as a persistent name.
    fn storage(&mut self, storage: &StorageName) -> Result<()> {
        self.out.push(b'(');
        self.sized(b'X', b"storage")?;
        let written = self.reached(storage).len();
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
        let start = match &self.encoded.objects[tensor.storage] {
            Object::Storage(storage) => self.reached(storage).start,
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
