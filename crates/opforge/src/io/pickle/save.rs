//! Checkpoints as PyTorch writes them: a zip archive of a pickle, in protocol 2, and a file for each storage, aligned to 64 bytes.

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use zip::write::{FileOptions, SimpleFileOptions};
use zip::{CompressionMethod, ZipWriter};

use super::object::{Id, Map, Object, StorageName, Stored};
use super::{FORMAT, writer};
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

    pub(super) fn object(&self, id: Id) -> &Object {
        &self.objects[id]
    }

    /// The elements of a storage that are written.
    pub(super) fn reached(&self, storage: &StorageName) -> Range<usize> {
        let place: usize = storage.key.parse().expect("a place in memory");
        let Range { start, end } = self.memory[place].reached;
        start.min(end)..end
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
        let pickle = writer::pickle(self, root)?;
        let mut entry = |path: &str, bytes: usize, write: &mut dyn FnMut(&mut ZipWriter<W>) -> Result<()>| {
            zip.start_file(format!("{name}/{path}"), stored(bytes)).map_err(zip_error)?;
            write(&mut zip)
        };
        entry("data.pkl", pickle.len(), &mut |zip| Ok(zip.write_all(&pickle)?))?;
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
