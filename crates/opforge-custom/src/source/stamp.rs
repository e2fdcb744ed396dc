//! Files that results are made from, and whether they changed.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use blake3::Hash;

use super::private;

/// What the file system says of a file's state: device, inode, size, and the times of its last change, the kernel's (`ctime`) among them, which
/// programs cannot set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(pub(super) [i64; 7]);

impl Stamp {
    /// No file has this one.
    pub(super) const UNKNOWN: Stamp = Stamp([0; 7]);

    /// Clocks of file systems tick every 2 s or faster: a file that changed longer ago than that gets another stamp when it changes again.
    const TICK: Duration = Duration::from_secs(2);

    pub(super) fn of(file: &Metadata) -> Self {
        let [device, inode, size] = [file.dev(), file.ino(), file.size()].map(u64::cast_signed);
        Stamp([device, inode, size, file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()])
    }

    /// This stamp if it can be trusted to change with the file, [`Stamp::UNKNOWN`] otherwise.
    fn settled(self) -> Self {
        if self.changed() + Self::TICK < SystemTime::now() { self } else { Stamp::UNKNOWN }
    }

    /// When the file was changed last.
    pub(super) fn changed(self) -> SystemTime {
        let seconds = u64::try_from(self.0[5]).unwrap_or(0);
        UNIX_EPOCH + Duration::new(seconds, u32::try_from(self.0[6]).unwrap_or(0))
    }
}

/// A file that a result was made from, and its state then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Where it is, as compilers and loaders look for it.
    pub path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) hash: Hash,
}

impl Dependency {
    /// The present state of a file.
    pub(super) fn record(path: PathBuf) -> io::Result<Self> {
        let mut dependency = Dependency { path, stamp: Stamp::UNKNOWN, hash: Hash::from_bytes([0; 32]) };
        dependency.update()?;
        Ok(dependency)
    }

    /// The state of an open file whose content is known. `metadata` was asked for before the content was read.
    pub(super) fn known(path: &Path, metadata: &Metadata, hash: Hash) -> Self {
        Dependency { path: path.to_owned(), stamp: Stamp::of(metadata).settled(), hash }
    }

    /// Brings the state up to date; whether the stamp is a new one.
    pub(super) fn update(&mut self) -> io::Result<bool> {
        self.update_from(&fs::metadata(&self.path)?, |path| File::open(path))
    }

    /// As [`Self::update`], for a file that was opened: it is read only if its stamp is not the known one.
    pub(super) fn update_from(
        &mut self,
        metadata: &Metadata,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> io::Result<bool> {
        let before = self.stamp;
        if Stamp::of(metadata) == before {
            return Ok(false);
        }
        *self = Dependency::known(&self.path, metadata, private::hash(open(&self.path)?)?);
        Ok(self.stamp != before)
    }

    /// Whether the file has other content now, or is gone.
    pub(super) fn is_changed(&self) -> bool {
        let mut now = self.clone();
        now.update().is_err() || now.hash != self.hash
    }
}
