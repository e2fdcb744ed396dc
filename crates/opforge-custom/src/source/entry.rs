//! What the index of the cache says of a result: the files that it was made from, and their states.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};

use super::{Dependency, Stamp, Target, private};
use opforge_core::Result;

/// Changes with the meaning of keys and of the index, so that results of other versions are not found.
const VERSION: &str = "opforge-custom 3";

/// A key: parts are kept apart, so that no two lists of parts give the same one.
pub(super) struct Key(Hasher);

impl Key {
    pub fn new(kind: &str) -> Self {
        let mut key = Key(Hasher::new());
        key.part(VERSION).part(kind).part(std::env::consts::ARCH).part(std::env::consts::OS);
        key
    }

    pub fn part(&mut self, part: impl AsRef<OsStr>) -> &mut Self {
        self.bytes(part.as_ref().as_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        self
    }

    pub fn finish(&self) -> Hash {
        self.0.finalize()
    }
}

/// What is asked of the cache: all that a result depends on, but for the files that only making it reveals.
pub(super) struct Request {
    pub key: Hash,
    /// The first part of the result's file name.
    pub stem: String,
}

impl Request {
    /// `path` gives the stem.
    pub fn new(key: &Key, path: &Path) -> Self {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // File names have at most 255 bytes.
        Request { key: key.finish(), stem: stem.chars().take(48).collect() }
    }

    /// The key as a file name.
    pub fn name(&self) -> String {
        short(&self.key)
    }
}

/// A result.
pub(super) struct Entry {
    pub target: Target,
    /// Where the library is in the result, if that is a folder of libraries; empty if it is the library itself.
    pub inner: PathBuf,
    pub dependencies: Vec<Dependency>,
}

impl Entry {
    /// What it was made from.
    pub fn key(&self, request: &Request) -> String {
        let mut key = Key::new("result");
        key.part(request.key.to_hex().as_str());
        for dependency in &self.dependencies {
            key.part(&dependency.path).part(dependency.hash.to_hex().as_str());
        }
        short(&key.finish())
    }

    /// Reads an entry; one that is missing, damaged or of another version is none.
    ///
    /// # Errors
    /// For a file of another user's.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        Ok(bytes(path)?.and_then(|bytes| Self::parse(&bytes)))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0);
        let mut field = || fields.next().map(OsStr::from_bytes);
        let target = match field()?.to_str()? {
            "cpu" => Target::Cpu,
            "cuda" => Target::Cuda,
            _ => return None,
        };
        let inner = field()?.into();
        let mut dependencies = Vec::new();
        while let Some(path) = field() {
            let (stamp, hash) = (field()?.to_str()?, field()?.to_str()?);
            let mut numbers = stamp.split(' ').map(str::parse);
            let mut values = [0; 7];
            for value in &mut values {
                *value = numbers.next()?.ok()?;
            }
            dependencies.push(Dependency { path: path.into(), stamp: Stamp(values), hash: Hash::from_hex(hash).ok()? });
        }
        Some(Entry { target, inner, dependencies })
    }

    /// Fields end with a zero byte, which no path holds: target, inner path, then path, stamp and hash of each dependency.
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let target = match self.target {
            Target::Cpu => "cpu",
            Target::Cuda => "cuda",
        };
        let mut field = |bytes: &[u8]| out.write_all(bytes).and_then(|()| out.write_all(b"\0"));
        field(target.as_bytes())?;
        field(self.inner.as_os_str().as_bytes())?;
        for dependency in &self.dependencies {
            field(dependency.path.as_os_str().as_bytes())?;
            field(dependency.stamp.0.map(|number| number.to_string()).join(" ").as_bytes())?;
            field(dependency.hash.to_hex().as_bytes())?;
        }
        Ok(())
    }
}

/// The hashes of a result's files, and where in the result they are; the path of a single file is empty.
#[derive(Default)]
pub(super) struct Digests(pub Vec<(PathBuf, Hash)>);

impl Digests {
    /// Reads what [`Self::write`] wrote; a file that is missing or damaged has none.
    ///
    /// # Errors
    /// For a file of another user's.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(bytes(path)?.and_then(|bytes| Self::parse(&bytes)).unwrap_or_default())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = bytes.strip_suffix(b"\0")?.split(|&byte| byte == 0).collect();
        let digest = |pair: &[&[u8]]| Some((OsStr::from_bytes(pair[0]).into(), Hash::from_hex(pair.get(1)?).ok()?));
        fields.chunks(2).map(digest).collect::<Option<_>>().map(Digests)
    }

    /// Fields end with a zero byte: path and hash of each file.
    pub fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.0.iter().try_for_each(|(path, hash)| {
            out.write_all(path.as_os_str().as_bytes())?;
            write!(out, "\0{}\0", hash.to_hex())
        })
    }
}

/// What a file of the cache holds; `None` where there is none to be believed.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let Some(mut file) = private::open(path)? else { return Ok(None) };
    Ok(file.read_to_end(&mut bytes).ok().map(|_| bytes))
}

/// The first 128 bits, as hexadecimal digits.
pub(super) fn short(hash: &Hash) -> String {
    hash.to_hex()[..32].to_owned()
}
