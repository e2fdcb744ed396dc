//! Files as they are read: copied or mapped.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use opforge_runtime::MappedFile;

use crate::{Error, Result};

/// Where the elements of tensors are that were read from a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// As [`FileAccess::Copy`] for files of at most [`SMALL_FILE`] bytes, as [`FileAccess::Map`] for larger ones.
    #[default]
    Auto,
    /// In memory of their own: the file may be changed afterwards, and so may the tensors. What is truncated meanwhile is an error.
    Copy,
    /// In the file, which is mapped: nothing is read before it is needed. What is written to tensors stays in this process, which copies the pages that it
    /// writes to. The file must keep its content as long as there are such tensors: who overwrites it may change them, and who truncates it ends this process
    /// (`SIGBUS`) when they are read. Replacing the file by
    /// another of its name is safe. Elements that are not aligned in the file, or in another byte order, are copied.
    Map,
}

/// Files of at most so many bytes are copied rather than mapped unless something else is asked for: it takes milliseconds, and nobody can truncate them
/// afterwards.
pub const SMALL_FILE: usize = 64 << 20;

/// A file that is open in one of these ways.
pub(super) enum Opened {
    Mapped(MappedFile),
    File(Plain),
}

/// An open file, and its size when it was opened.
pub(super) struct Plain {
    file: File,
    len: usize,
}

impl Opened {
    /// Errors name the file.
    pub fn new(path: &Path, access: FileAccess) -> Result<Self> {
        Self::open(path, access).map_err(|error| error.opening(path))
    }

    fn open(path: &Path, access: FileAccess) -> Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(ErrorKind::IsADirectory).into());
        }
        let len = usize::try_from(metadata.len()).map_err(|_| io::Error::from(ErrorKind::FileTooLarge))?;
        let is_mapped = match access {
            FileAccess::Auto => len > SMALL_FILE,
            FileAccess::Copy => false,
            FileAccess::Map => true,
        };
        Ok(if is_mapped { Opened::Mapped(MappedFile::private(&file)?) } else { Opened::File(Plain { file, len }) })
    }

    pub fn source(&self) -> Source<'_> {
        match self {
            Opened::Mapped(file) => Source::Mapped(file),
            Opened::File(file) => Source::File(file),
        }
    }
}

/// What is read, at any place.
pub(super) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Where a file's bytes are.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// In memory that tensors may share.
    Mapped(&'a MappedFile),
    /// On the disk.
    File(&'a Plain),
    /// In memory that belongs to somebody else.
    Slice(&'a [u8]),
}

impl<'a> Source<'a> {
    /// The file's size in bytes.
    pub fn len(self) -> usize {
        match self {
            Source::Mapped(file) => file.len(),
            Source::File(file) => file.len,
            Source::Slice(bytes) => bytes.len(),
        }
    }

    /// The file from its beginning on.
    pub fn reader(self) -> Result<Box<dyn ReadSeek + 'a>> {
        let mut file = match self {
            Source::Mapped(file) => return Ok(Box::new(Cursor::new(file.bytes(0..file.len())))),
            Source::Slice(bytes) => return Ok(Box::new(Cursor::new(bytes))),
            Source::File(plain) => &plain.file,
        };
        file.seek(SeekFrom::Start(0))?;
        Ok(Box::new(BufReader::new(file)))
    }

    /// A part of the file, which is within its size.
    pub fn part(self, range: Range<usize>, format: &'static str) -> Result<Cow<'a, [u8]>> {
        Ok(match self {
            Source::Mapped(file) => Cow::Borrowed(file.bytes(range)),
            Source::Slice(bytes) => Cow::Borrowed(&bytes[range]),
            Source::File(_) => {
                let mut bytes = vec![0; range.len()];
                self.read(range.start, &mut bytes, format)?;
                Cow::Owned(bytes)
            }
        })
    }

    /// Reads the bytes from `start` on, which are within the file's size.
    pub fn read(self, start: usize, into: &mut [u8], format: &'static str) -> Result<()> {
        let file = match self {
            Source::Mapped(file) => return copy(file.bytes(start..start + into.len()), into),
            Source::Slice(bytes) => return copy(&bytes[start..], into),
            Source::File(plain) => &plain.file,
        };
        let mut file = file;
        let read = file.seek(SeekFrom::Start(start as u64)).and_then(|_| file.read_exact(into));
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::format(format, "the file was truncated while it was read"),
            _ => error.into(),
        })
    }
}

fn copy(from: &[u8], into: &mut [u8]) -> Result<()> {
    into.copy_from_slice(&from[..into.len()]);
    Ok(())
}
