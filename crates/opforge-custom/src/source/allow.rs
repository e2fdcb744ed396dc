//! The allow-lists: which files may be used at all.
//!
//! A file is opened once; what is judged is where the open file is, with links and `..` resolved, and what is read later is this open file. So
//! nothing is gained by replacing it, or a folder on the way, after the check.
//!
//! What a list cannot see is a file's other names: a hard link below an entry is below it, wherever the same file is besides. Nor does it hold what an
//! allowed file does when it runs or is assembled (`dlopen`, `.incbin`): who allows a file trusts it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use opforge_core::Result;
use rustix::fs::OFlags;

use super::private::open_with;
use super::{Settings, fault};

/// A file that may be used.
pub(super) struct Opened {
    pub file: File,
    /// Its path as given, with the folder resolved: neighbours are looked for there, as compilers and loaders do.
    pub given: PathBuf,
    /// Where it really is.
    pub resolved: PathBuf,
}

/// Opens a regular file that all allow-lists accept.
pub(super) fn open(path: &Path, settings: &Settings) -> Result<Opened> {
    let cannot = |error: io::Error| fault(path, format!("cannot be opened: {error}"));
    // Opening a named pipe would wait for a writer.
    let file = open_with(path, OFlags::NONBLOCK).map_err(cannot)?;
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(fault(path, "is not a file"));
    }
    let resolved = resolve(&file, path).map_err(cannot)?;
    allowed(&resolved, &[], settings).map_err(|reason| fault(path, reason))?;
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let given = folder.canonicalize().map_err(cannot)?.join(name);
    Ok(Opened { file, given, resolved })
}

/// The path of an open file, without links.
fn resolve(file: &File, path: &Path) -> io::Result<PathBuf> {
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let known = identity(file.metadata()?);
    // What the kernel says of the descriptor, where it does; otherwise the path is resolved once more.
    let candidates = [fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())), path.canonicalize()];
    let is_it = |candidate: &PathBuf| fs::symlink_metadata(candidate).is_ok_and(|found| identity(found) == known);
    let found = candidates.into_iter().flatten().find(is_it);
    found.ok_or_else(|| io::Error::other("it was replaced meanwhile"))
}

/// The path without links of a file as it is now, for files that others open.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    resolve(&open_with(path, OFlags::NONBLOCK)?, path)
}

/// Whether the lists allow the file, or files of the folder, at a path without links, or it is below one of `also`; or why not.
pub(super) fn allowed(resolved: &Path, also: &[PathBuf], settings: &Settings) -> Result<(), String> {
    let is_below = |folders: &[PathBuf]| folders.iter().any(|folder| resolved.starts_with(folder));
    settings.allow.iter().try_for_each(|(variable, list)| {
        let entries = env::split_paths(list).filter(|entry| !entry.as_os_str().is_empty());
        let folders: Vec<PathBuf> = entries.filter_map(|entry| entry.canonicalize().ok()).collect();
        if is_below(&folders) || is_below(also) {
            return Ok(());
        }
        let accepted = match folders.len() {
            0 => "it names no folder that exists, which allows nothing".to_owned(),
            _ => format!("accepted are files below {}", listed(&folders)),
        };
        Err(format!("{variable} does not allow this file, which is {}; {accepted}", resolved.display()))
    })
}

pub(super) fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}
