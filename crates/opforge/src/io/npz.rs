//! numpy's archives of arrays.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use opforge_runtime::{Storage, vm};
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::npy::{self, Header, MAX_HEADER};
use super::replace::replace;
use crate::{DType, Device, Error, Meta, Result, Shape, Tensor};

const FORMAT: &str = "npz";

/// Deflate makes no more than this of a byte; an archive that claims more lies.
const MAX_RATIO: u64 = 1032;

fn zip_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => stream_error(error),
        ZipError::UnsupportedArchive(what) => unsupported(what),
        ZipError::CompressionMethodNotSupported(_) => unsupported(error),
        other => Error::format(FORMAT, other),
    }
}

/// The system's own errors are such; others tell of the archive's content.
fn stream_error(error: std::io::Error) -> Error {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => error.into(),
        (_, ErrorKind::UnexpectedEof) => Error::format(FORMAT, "an array ends early"),
        (_, ErrorKind::Unsupported) => unsupported(error),
        _ => Error::format(FORMAT, error),
    }
}

fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::format(FORMAT, format!("{what} (accepted: arrays that are stored or deflated, and not encrypted)"))
}

/// The arrays of a `.npz` archive, each read when it is asked for.
#[derive(Debug)]
pub struct NpzTensors {
    path: PathBuf,
    /// Names without `.npy`, and the entries' places in the archive.
    entries: Vec<(String, usize)>,
}

type Archive = ZipArchive<BufReader<File>>;

impl NpzTensors {
    /// Reads the list of arrays.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for what is not an archive, and for a name that occurs twice.
    pub fn new<P: AsRef<Path>>(path: P) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let archive = Self::open(&path)?;
        check_count(&path, &archive)?;
        let mut entries: Vec<(String, usize)> = Vec::with_capacity(archive.len());
        for i in 0..archive.len() {
            let Some(name) = archive.name_for_index(i).transpose().map_err(zip_error)? else { continue };
            if !name.ends_with('/') {
                entries.push((name.strip_suffix(".npy").unwrap_or(&name).to_owned(), i));
            }
        }
        let mut names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::format(FORMAT, format!("{} twice", pair[0]))),
            None => Ok(NpzTensors { path, entries }),
        }
    }

    fn open(path: &Path) -> Result<Archive> {
        let open = || ZipArchive::new(BufReader::new(File::open(path)?)).map_err(zip_error);
        open().map_err(|error| error.opening(path))
    }

    /// The arrays' names, in the order of the archive.
    pub fn names(&self) -> Vec<&String> {
        self.entries.iter().map(|(name, _)| name).collect()
    }

    fn entry(&self, name: &str) -> Option<usize> {
        self.entries.iter().find(|(n, _)| n == name).map(|&(_, i)| i)
    }

    /// The shape and dtype of an array, without its elements.
    ///
    /// # Errors
    /// [`Error::CannotFindTensor`]; else as [`NpzTensors::get`].
    pub fn get_shape_and_dtype(&self, name: &str) -> Result<(Shape, DType)> {
        let i = self.entry(name).ok_or_else(|| Error::CannotFindTensor { path: name.into() })?;
        let mut archive = Self::open(&self.path)?;
        let header = read_header(&mut archive.by_index(i).map_err(zip_error)?)?;
        Ok((header.claim.shape, header.claim.dtype))
    }

    /// An array, or `None` where there is none of that name.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for a bad header, missing elements, and arrays of objects, records or texts.
    pub fn get(&self, name: &str) -> Result<Option<Tensor>> {
        let Some(i) = self.entry(name) else { return Ok(None) };
        read_entry(&mut Self::open(&self.path)?, i).map(Some)
    }
}

/// The reader of archives keeps the last of several entries of one name; the record at the archive's end says how many there are.
fn check_count(path: &Path, archive: &Archive) -> Result<()> {
    const RECORD: usize = 22;
    /// The number is in another record, where it does not fit.
    const ELSEWHERE: u16 = u16::MAX;
    let mut file = File::open(path)?;
    let mut record = [0; RECORD];
    let from_end = i64::try_from(RECORD + archive.comment().len()).unwrap_or(i64::MAX);
    let read = file.seek(SeekFrom::End(-from_end)).and_then(|_| file.read_exact(&mut record));
    let count = u16::from_le_bytes([record[10], record[11]]);
    // Something behind the archive is not looked into.
    if read.is_err() || !record.starts_with(b"PK\x05\x06") || count == ELSEWHERE || usize::from(count) == archive.len()
    {
        return Ok(());
    }
    Err(Error::format(FORMAT, format!("{count} entries are announced, of {} different names", archive.len())))
}

/// Reads exactly the bytes announced.
fn read_exact(from: &mut impl Read, into: &mut [u8]) -> Result<()> {
    from.read_exact(into).map_err(stream_error)
}

/// Nothing may follow the elements; reading the end is also what verifies the checksum.
fn check_end(entry: &mut impl Read) -> Result<()> {
    match entry.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Error::format(FORMAT, "bytes after an array's elements")),
        Err(error) => Err(stream_error(error)),
    }
}

fn read_header(entry: &mut ZipFile<'_, BufReader<File>>) -> Result<Header> {
    // The longest fixed part; every array has more bytes than that.
    let mut head = vec![0; 12];
    read_exact(entry, &mut head)?;
    let (start, len) = Header::extent(&head)?;
    if len > MAX_HEADER {
        return Err(Error::format(FORMAT, format!("a header of {len} bytes")));
    }
    let text = (start + len).max(head.len());
    head.resize(text, 0);
    read_exact(entry, &mut head[12..])?;
    Ok(Header::parse(&head)?.0)
}

fn read_entry(archive: &mut Archive, i: usize) -> Result<Tensor> {
    let mut entry = archive.by_index(i).map_err(zip_error)?;
    let header = read_header(&mut entry)?;
    let nbytes = header.claim.nbytes(FORMAT)?;
    let possible = entry.size().min(entry.compressed_size().saturating_mul(MAX_RATIO));
    if nbytes as u64 > possible {
        let message = format!("{nbytes} bytes of elements are announced, {possible} are possible");
        return Err(Error::format(FORMAT, message));
    }
    let fortran_order = header.fortran_order;
    let claim = header.stored_claim();
    let storage = Storage::new(Device::Cpu, nbytes)?;
    let mut into = vm::write(&storage)?;
    read_exact(&mut entry, &mut into)?;
    claim.normalize(&mut into);
    drop(into);
    check_end(&mut entry)?;
    let tensor = Tensor::from_parts(Meta::contiguous(claim.dtype, &claim.shape), storage);
    if fortran_order { npy::reversed(&tensor)?.contiguous() } else { Ok(tensor) }
}

impl Tensor {
    /// All arrays of a `.npz` archive, with their names.
    ///
    /// # Errors
    /// As [`NpzTensors::new`] and [`NpzTensors::get`].
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// # fn main() -> opforge::Result<()> {
    /// let path = std::env::temp_dir().join(format!("doc-{}.npz", std::process::id()));
    /// let t = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// Tensor::write_npz(&[("a", &t), ("b", &t)], &path)?;
    /// let arrays = Tensor::read_npz(&path)?;
    /// assert_eq!(arrays[1].0, "b");
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_npz<P: AsRef<Path>>(path: P) -> Result<Vec<(String, Tensor)>> {
        let arrays = NpzTensors::new(path)?;
        let mut archive = NpzTensors::open(&arrays.path)?;
        let read = |(name, i)| {
            let tensor = read_entry(&mut archive, i).map_err(|error| error.context(format!("array {name}")))?;
            Ok((name, tensor))
        };
        arrays.entries.into_iter().map(read).collect()
    }

    /// Some arrays of a `.npz` archive.
    ///
    /// # Errors
    /// [`Error::CannotFindTensor`]; else as [`Tensor::read_npz`].
    pub fn read_npz_by_name<P: AsRef<Path>>(path: P, names: &[&str]) -> Result<Vec<Tensor>> {
        let arrays = NpzTensors::new(path)?;
        let find = |name: &&str| arrays.get(name)?.ok_or_else(|| Error::CannotFindTensor { path: (*name).into() });
        names.iter().map(find).collect()
    }

    /// Writes a `.npz` archive.
    ///
    /// # Errors
    /// [`Error::Io`]; bf16, which numpy lacks; a name that occurs twice.
    pub fn write_npz<S: AsRef<str>, T: AsRef<Tensor>, P: AsRef<Path>>(tensors: &[(S, T)], path: P) -> Result<()> {
        replace(path.as_ref(), |out| {
            let mut archive = ZipWriter::new_stream(out);
            for (name, tensor) in tensors {
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Stored)
                    .large_file(tensor.as_ref().elem_count() >= 1 << 28);
                archive.start_file(format!("{}.npy", name.as_ref()), options).map_err(zip_error)?;
                npy::write(tensor.as_ref(), &mut archive)?;
            }
            archive.finish().map(drop).map_err(zip_error)
        })
    }
}
