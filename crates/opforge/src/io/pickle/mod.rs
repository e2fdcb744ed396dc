//! PyTorch's checkpoints (`.pt`, `.pth`, `.bin`): pickles with tensors, in a zip archive or, as before version 1.6, one after the other in a file.
//!
//! A pickle is a program that builds objects. It is read by a machine that knows containers, numbers, texts and tensors, and executes nothing: whatever
//! else a pickle names is an error that says so. What is written is what PyTorch's `torch.load(weights_only=True)` reads.
//!
//! Formats: the opcodes of Python's `pickletools`, and the entries `data.pkl`, `byteorder` and `data/KEY` of an archive.

mod archive;
mod globals;
mod legacy;
mod machine;
mod object;
mod rebuild;
mod save;
mod storages;
mod tensors;
mod writer;

use std::path::Path;
use std::sync::Arc;

use super::access::{Opened, Source};
use crate::{Device, Error, FileAccess, Result, Tensor};
use object::StorageName;
pub use object::{Id, Map, Object, Pickle, Stored};
pub use save::{Encoded, save, to_bytes};
use storages::Storages;
pub use tensors::{PthTensors, TensorInfo, read_all, read_all_with_key, read_pth_tensor_info};

pub(super) const FORMAT: &str = "pickle";

/// How deeply containers may be nested.
pub(super) const MAX_DEPTH: usize = 500;

/// Magic bytes of zip archives.
const ZIP: &[u8] = b"PK\x03\x04";

/// A file that was read: what its pickle says, and the storages of its tensors, each of which is loaded once, when a tensor of it is asked for.
pub struct Checkpoint {
    pickle: Pickle,
    storages: Storages,
    source: Bytes,
}

enum Bytes {
    File(Opened),
    Memory(Vec<u8>),
}

impl Bytes {
    fn source(&self) -> Source<'_> {
        match self {
            Bytes::File(file) => file.source(),
            Bytes::Memory(bytes) => Source::Slice(bytes),
        }
    }
}

impl Checkpoint {
    /// Reads the pickle of a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for what contradicts the format, and for a pickle that names functions or classes other than those of containers
    /// and tensors.
    pub fn open<P: AsRef<Path>>(path: P, access: FileAccess) -> Result<Checkpoint> {
        let file = Opened::new(path.as_ref(), access)?;
        Checkpoint::new(Bytes::File(file)).map_err(|error| error.context(path.as_ref().display()))
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Checkpoint> {
        Checkpoint::new(Bytes::Memory(bytes))
    }

    fn new(source: Bytes) -> Result<Checkpoint> {
        let bytes = source.source();
        let start = bytes.part(0..bytes.len().min(ZIP.len()), FORMAT)?;
        let (pickle, storages) = if *start == *ZIP { archive::read(bytes)? } else { legacy::read(bytes)? };
        Ok(Checkpoint { pickle, storages, source })
    }

    /// What the pickle says.
    pub fn pickle(&self) -> &Pickle {
        &self.pickle
    }

    /// A tensor that the pickle describes. Tensors of one storage share memory.
    ///
    /// # Errors
    /// [`Error::Format`] for a storage that the file lacks, and elements beyond it.
    pub fn tensor(&mut self, stored: &Stored, device: &Device) -> Result<Tensor> {
        let storage = storage(&self.pickle, stored)?;
        self.storages.tensor(self.source.source(), storage, stored)?.to_device(device)
    }

    fn storage(&self, stored: &Stored) -> Result<&StorageName> {
        storage(&self.pickle, stored)
    }

    /// Where a storage is: an entry of the archive, or in a file that is none its name.
    fn path_of(&self, storage: &StorageName) -> Arc<str> {
        format!("{}{}", self.storages.folder, storage.key).into()
    }
}

fn storage<'a>(pickle: &'a Pickle, stored: &Stored) -> Result<&'a StorageName> {
    match pickle.object(stored.storage) {
        Object::Storage(storage) => Ok(storage),
        other => Err(Error::format(FORMAT, format!("a tensor of {}, not of a storage", other.kind()))),
    }
}
