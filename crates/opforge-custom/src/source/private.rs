//! Files and folders that only this user can have written, whatever the umask. Where others could exchange the cache's folder, it is held open and
//! reached by its descriptor.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

use blake3::{Hash, Hasher};
use opforge_core::{Error, Result};
use rustix::fs::OFlags;

use super::fault;

/// Modes of what the cache holds, set whatever the umask.
const FOLDER: u32 = 0o700;
pub(super) const LIBRARY: u32 = 0o500;
pub(super) const TEXT: u32 = 0o400;

/// Bits of a mode that let others write. With an access-control list, the group's bits are the most that the list grants.
const OTHERS_WRITE: u32 = 0o022;

/// Only the owners of its entries may exchange them, as in `/tmp`.
const STICKY: u32 = 0o1000;

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn is_private(metadata: &Metadata) -> bool {
    is_own(metadata) && metadata.mode() & OTHERS_WRITE == 0
}

/// The error of something in the cache, or of its folder, that others can have written.
pub(super) fn refused(path: &Path, reason: impl std::fmt::Display) -> Error {
    fault(path, format!("libraries are kept only in a folder that is private, but this one {reason}"))
}

fn check_own(path: &Path, metadata: &Metadata) -> Result<()> {
    if is_own(metadata) {
        return Ok(());
    }
    let owner = format_args!("belongs to another user ({})", metadata.uid());
    Err(refused(path, format_args!("{owner}: remove it, or choose another folder (OPFORGE_CUSTOM_CACHE)")))
}

/// Opens a file or folder to be read, with these flags.
pub(super) fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Makes the folder of a cache if need be. Gives its resolved path, and a path by which nobody else can bring another folder in its place: the same,
/// unless others may write to a folder above it.
///
/// # Errors
/// [`Error::Value`] where there can be no folder; [`Error::CustomOp`] for one that belongs to another user or that others may write to.
pub(super) fn root(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let unusable = |reason: &dyn std::fmt::Display| {
        let accepted = "a folder of this user's that nobody else may write to, or a path where one can be made";
        Error::value("custom operator", "cache", format!("{folder:?}, which cannot be used: {reason}"), accepted)
    };
    if folder.as_os_str().is_empty() {
        return Err(unusable(&"it is empty"));
    }
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(unusable(&"it is not a folder"));
    }
    let made = DirBuilder::new().recursive(true).mode(FOLDER).create(folder).and_then(|()| folder.canonicalize());
    let path = made.map_err(|error| unusable(&error))?;
    let open = open_with(&path, OFlags::DIRECTORY | OFlags::NOFOLLOW).map_err(|error| unusable(&error))?;
    let metadata = open.metadata().map_err(|error| unusable(&error))?;
    check_own(folder, &metadata)?;
    if !is_private(&metadata) {
        let reason = format!("may be written to by others (chmod go-w {} ends that)", path.display());
        return Err(refused(folder, reason));
    }
    let fixed = if is_fixed(&path) { path.clone() } else { pinned(&path, open, &metadata)? };
    Ok((path, fixed))
}

/// Whether no other user can exchange this folder: those above it are root's or this user's, and where others may write, they may not touch it.
fn is_fixed(folder: &Path) -> bool {
    let is_safe = |above: &Path| {
        fs::metadata(above).is_ok_and(|found| {
            (found.uid() == 0 || is_own(&found)) && (found.mode() & OTHERS_WRITE == 0 || found.mode() & STICKY != 0)
        })
    };
    folder.ancestors().skip(1).all(is_safe)
}

/// An open folder as a path that names nothing else as long as this process lives: the folder stays open.
fn pinned(path: &Path, folder: File, metadata: &Metadata) -> Result<PathBuf> {
    static OPEN: Mutex<Vec<(u64, u64, File)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let identity = (metadata.dev(), metadata.ino());
    let known = open.iter().find(|(device, inode, _)| (*device, *inode) == identity);
    let descriptor = known.map_or(folder.as_raw_fd(), |(.., folder)| folder.as_raw_fd());
    let pinned = PathBuf::from(format!("/proc/{}/fd/{descriptor}", process::id()));
    if !fs::metadata(&pinned).is_ok_and(|found| (found.dev(), found.ino()) == identity) {
        return Err(refused(path, "is below one that others may write to, who could exchange it"));
    }
    if known.is_none() {
        open.push((identity.0, identity.1, folder));
    }
    Ok(pinned)
}

/// Makes a folder of the cache's, or makes one that is there private.
pub(super) fn folder(path: &Path) -> Result<()> {
    let (is_there, metadata) = match DirBuilder::new().mode(FOLDER).create(path) {
        Ok(()) => (false, fs::symlink_metadata(path)?),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (true, fs::symlink_metadata(path)?),
        Err(error) => return Err(error.into()),
    };
    if !metadata.is_dir() {
        return Err(fault(path, "is not a folder, but a folder of opforge's cache has its place: remove it"));
    }
    check_own(path, &metadata)?;
    if !is_there || metadata.mode() & 0o777 != FOLDER {
        fs::set_permissions(path, Permissions::from_mode(FOLDER))?;
    }
    Ok(())
}

/// Opens a file of the cache. `None` if there is none, or one that others may write to: it is to be made again.
///
/// # Errors
/// For a file of another user's.
pub(super) fn open(path: &Path) -> Result<Option<File>> {
    let Ok(file) = open_with(path, OFlags::NONBLOCK | OFlags::NOFOLLOW) else {
        return match fs::symlink_metadata(path) {
            Ok(metadata) => check_own(path, &metadata).map(|()| None),
            Err(_) => Ok(None),
        };
    };
    let metadata = file.metadata()?;
    check_own(path, &metadata)?;
    Ok(Some(file).filter(|_| metadata.is_file() && is_private(&metadata)))
}

/// The hash of what an open file holds.
pub(super) fn hash(file: File) -> io::Result<Hash> {
    Ok(Hasher::new().update_reader(file)?.finalize())
}

/// Gives a file, or all files of a folder, this mode and folders theirs; then, for each file, where in the folder it is (for a single file, an empty
/// path) and the hash of its content.
pub(super) fn seal(product: &Path, mode: u32) -> io::Result<Vec<(PathBuf, Hash)>> {
    let mut digests = Vec::new();
    seal_below(product, Path::new(""), mode, &mut digests)?;
    Ok(digests)
}

fn seal_below(product: &Path, inner: &Path, mode: u32, digests: &mut Vec<(PathBuf, Hash)>) -> io::Result<()> {
    let path = below(product, inner);
    if !fs::symlink_metadata(&path)?.is_dir() {
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        digests.push((inner.to_owned(), hash(File::open(&path)?)?));
        return Ok(());
    }
    fs::set_permissions(&path, Permissions::from_mode(FOLDER))?;
    for entry in fs::read_dir(&path)? {
        seal_below(product, &inner.join(entry?.file_name()), mode, digests)?;
    }
    Ok(())
}

/// Whether what is at `place` is what was sealed, and only this user can have written it.
///
/// # Errors
/// For files of other users.
pub(super) fn is_sealed(place: &Path, digests: &[(PathBuf, Hash)]) -> Result<bool> {
    for (inner, expected) in digests {
        let folders = inner.ancestors().skip(1).map(|folder| fs::symlink_metadata(below(place, folder)));
        if !folders.into_iter().all(|found| found.is_ok_and(|found| found.is_dir() && is_private(&found))) {
            return Ok(false);
        }
        let found = open(&below(place, inner))?.map(hash).transpose()?;
        if found != Some(*expected) {
            return Ok(false);
        }
    }
    Ok(!digests.is_empty())
}

fn below(place: &Path, inner: &Path) -> PathBuf {
    if inner.as_os_str().is_empty() { place.to_owned() } else { place.join(inner) }
}
