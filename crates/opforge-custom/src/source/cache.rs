//! The folder of results: private to the user, safe for many threads and processes at once.
//!
//! ```text
//! <stem>_<key>.so     a library; with others that it expects beside itself, in a folder <stem>_<key>
//! index/<request>     the files that the last result of a request was made from
//! include/<key>       opforge's headers
//! inline/<key>        sources that were given as text
//! program/<key>       opforge's own programs, where they cannot be run from memory
//! stage/              what is being made; it moves to its place in one step, so nothing anywhere else is half-written
//! lock/               files that keep processes from making the same thing twice; nothing else depends on them
//! ```
//! Only this user can write there, and a name stands for its content, so what is in its place is believed. The folder may be deleted at any time.

use std::env;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use opforge_core::{Context, Error, Result};
use opforge_runtime::vm;
use tempfile::TempDir;

use super::{Options, Settings};

/// How often a lock or a process that is waited for is looked at.
pub(super) const POLL: Duration = Duration::from_millis(2);

/// Stages that have not changed for so long were left by processes that were killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Cache {
    pub root: PathBuf,
}

impl Cache {
    /// The folder that the options or settings name, or else the user's, or else a temporary one.
    pub fn open(options: &Options, settings: &Settings) -> Result<Self> {
        if let Some(folder) = options.cache.as_ref().or(settings.cache.as_ref()) {
            return Ok(Cache { root: private(folder)? });
        }
        let of_user = settings.user_cache.as_ref().map(|folder| private(&folder.join("opforge/custom")));
        if let Some(Ok(root)) = of_user {
            return Ok(Cache { root });
        }
        let name = format!("opforge-{}", rustix::process::geteuid().as_raw());
        let temporary = env::temp_dir().canonicalize()?;
        let root = private(&temporary.join(&name))?;
        // Anybody may make a link there, to another folder of this user's.
        if root != temporary.join(name) {
            return Err(refused(&root, "is reached by a link"));
        }
        Ok(Cache { root })
    }

    /// A folder to make something in; removed when dropped.
    pub fn stage(&self) -> Result<TempDir> {
        let folder = self.folder("stage")?;
        for entry in fs::read_dir(&folder)?.flatten() {
            let changed = entry.metadata().and_then(|metadata| metadata.modified());
            if changed.is_ok_and(|changed| changed + ABANDONED < SystemTime::now()) {
                // Another process may be doing the same.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(TempDir::new_in(folder)?)
    }

    /// Waits for whoever makes a thing of this key, but not longer than `patience`: a stopped process blocks nobody.
    pub fn lock(&self, key: &str, patience: Duration) -> Result<Option<File>> {
        // Few files for all keys: none is ever removed, which could not be done safely.
        let path = self.folder("lock")?.join(&key[..2]);
        let file = File::options().create(true).append(true).open(path)?;
        let start = Instant::now();
        let mut is_held = false;
        let mut attempt = || match file.try_lock() {
            Ok(()) => {
                is_held = true;
                true
            }
            Err(TryLockError::WouldBlock) => start.elapsed() >= patience,
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => true,
        };
        if !attempt() {
            vm::wait(&mut |at_most| {
                std::thread::sleep(POLL.min(at_most));
                attempt()
            })?;
        }
        Ok(is_held.then_some(file))
    }

    /// A folder of files with these contents, at a place in the cache that belongs to them.
    pub fn materialise(&self, place: &str, files: &[(&str, impl AsRef<[u8]>)]) -> Result<PathBuf> {
        let place = self.root.join(place);
        if !place.is_dir() {
            let stage = self.stage()?;
            let product = stage.path().join("product");
            for (name, contents) in files {
                let file = product.join(name);
                fs::create_dir_all(file.parent().unwrap_or(&product))?;
                fs::write(file, contents)?;
            }
            fs::create_dir_all(place.parent().unwrap_or(&self.root))?;
            move_to(&product, &place)?;
        }
        Ok(place)
    }

    /// A folder of the cache's, made if need be.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join(name);
        create(&folder)?;
        Ok(folder)
    }
}

/// Moves a file or folder to a place where the same may be already, made by another process.
pub(super) fn move_to(from: &Path, to: &Path) -> Result<()> {
    match fs::rename(from, to) {
        Err(error) if !to.exists() => Err(Error::from(error).context(format!("making {}", to.display()))),
        _ => Ok(()),
    }
}

fn create(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a folder if need be; its resolved path, if it is this user's and nobody else may write to it.
fn private(folder: &Path) -> Result<PathBuf> {
    let opened = create(folder).and_then(|()| folder.canonicalize());
    let root = opened.map_err(Error::from).with_context(|| format!("opening the cache {}", folder.display()))?;
    let metadata = root.metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(folder, "belongs to another user"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refused(folder, format!("may be written to by others (chmod go-w {} ends that)", root.display())));
    }
    Ok(root)
}

fn refused(folder: &Path, reason: impl std::fmt::Display) -> Error {
    let message = format!("libraries are kept only in a folder that is private, but this one {reason}");
    super::fault(folder, message)
}
