//! Files mapped into memory.

use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::Mmap;
use opforge_core::{Error, Result};

use crate::Storage;

/// A file's bytes, mapped into memory and read as they are needed. Clones share the mapping.
///
/// The file must keep its content as long as the mapping is used: who overwrites it changes tensors, and who truncates it makes reads fault, which ends
/// the process (`SIGBUS`).
/// Replacing the file by another of the same name (write elsewhere, then rename) is safe.
#[derive(Debug, Clone)]
pub struct MappedFile(Option<Arc<Mmap>>);

impl MappedFile {
    /// Maps a file.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// Maps an open file.
    ///
    /// # Errors
    /// As [`MappedFile::open`].
    pub fn of(file: &File) -> Result<Self> {
        // An empty mapping is refused by operating systems.
        if file.metadata()?.len() == 0 {
            return Ok(MappedFile(None));
        }
        // SAFETY: the bytes are only ever read, as integers; that the file keeps its content is the documented condition.
        let map = unsafe { Mmap::map(file)? };
        Ok(MappedFile(Some(Arc::new(map))))
    }

    /// A read-only storage over a part of the file, without a copy. It keeps the mapping alive.
    ///
    /// # Errors
    /// [`Error::Index`] for a range beyond the file.
    pub fn storage(&self, range: Range<usize>) -> Result<Arc<Storage>> {
        let bytes = self.get(range.clone()).ok_or_else(|| {
            Error::index("map", "range", format!("{range:?}"), format!("a range within {} bytes", self.len()))
        })?;
        // SAFETY: the mapping does not move and lives in the storage's owner; storages of read-only memory are never written.
        Ok(unsafe { Storage::from_raw(NonNull::from(bytes).cast(), bytes.len(), true, Box::new(self.clone())) })
    }
}

impl Deref for MappedFile {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |map| map)
    }
}
