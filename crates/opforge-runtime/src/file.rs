//! Files mapped into memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};
use opforge_core::{Error, Result};

use crate::Storage;

/// A file's bytes, mapped into memory and read as they are needed. Clones share the mapping.
///
/// The file must keep its content as long as the mapping is used: who overwrites it may change tensors, and who truncates it makes reads fault, which ends
/// the process (`SIGBUS`). Replacing the file by another of the same name (write elsewhere, then rename) is safe.
#[derive(Debug, Clone)]
pub struct MappedFile {
    map: Option<Arc<MmapRaw>>,
    is_private: bool,
}

impl MappedFile {
    /// Maps a file, whose storages are read-only.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let map = |options: &MmapOptions, file: &File| options.map_raw_read_only(file);
        Self::of(&File::open(path)?, false, map)
    }

    /// Maps an open file, whose storages may be written to: a page that is written to is copied, for this mapping alone, and the file keeps its content.
    ///
    /// # Errors
    /// As [`MappedFile::open`].
    pub fn private(file: &File) -> Result<Self> {
        // SAFETY: the bytes are any integers; that the file keeps its content is the documented condition.
        let map = |options: &MmapOptions, file: &File| unsafe { options.map_copy(file) }.map(MmapRaw::from);
        Self::of(file, true, map)
    }

    fn of(file: &File, is_private: bool, map: impl Fn(&MmapOptions, &File) -> io::Result<MmapRaw>) -> Result<Self> {
        // An empty mapping is refused by operating systems.
        let is_empty = file.metadata()?.len() == 0;
        let map = if is_empty { None } else { Some(Arc::new(map(&MmapOptions::new(), file)?)) };
        Ok(MappedFile { map, is_private })
    }

    /// The file's size in bytes.
    pub fn len(&self) -> usize {
        self.map.as_ref().map_or(0, |map| map.len())
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.map.is_none()
    }

    /// A part of the file as it is now. Nobody may write to storages of these bytes meanwhile.
    ///
    /// # Panics
    /// For a range beyond the file.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        let Some(data) = self.at(&range) else { panic!("{range:?} of a file of {} bytes", self.len()) };
        // SAFETY: the mapping has the range, and lives as long as `self`; that nobody writes is the documented condition.
        unsafe { std::slice::from_raw_parts(data.as_ptr(), range.len()) }
    }

    /// Where a part of the file begins, if it is within the file.
    fn at(&self, range: &Range<usize>) -> Option<NonNull<u8>> {
        if range.start > range.end || range.end > self.len() {
            return None;
        }
        let start = self.map.as_ref().map_or(NonNull::dangling().as_ptr(), |map| map.as_mut_ptr());
        NonNull::new(start.wrapping_add(range.start))
    }

    /// A storage over a part of the file, without a copy. It keeps the mapping alive.
    ///
    /// # Errors
    /// [`Error::Index`] for a range beyond the file.
    pub fn storage(&self, range: Range<usize>) -> Result<Arc<Storage>> {
        let data = self.at(&range).ok_or_else(|| {
            Error::index("map", "range", format!("{range:?}"), format!("a range within {} bytes", self.len()))
        })?;
        // SAFETY: the mapping does not move and lives in the storage's owner; it is memory of this process alone unless the storage is read-only, and such
        // storages are never written to.
        Ok(unsafe { Storage::from_raw(data, range.len(), !self.is_private, Box::new(self.clone())) })
    }
}
