//! The folder of results: private to the user, safe for many threads and processes at once.
//!
//! ```text
//! <stem>_<key>.so     a library; with others that it expects beside itself, in a folder <stem>_<key>
//! index/<request>     the files that the last result of a request was made from
//! index/<key>         the hashes of a result's files
//! include/<key>       opforge's headers
//! inline/<key>        sources that were given as text
//! program/<key>       opforge's own programs, where they cannot be run from memory
//! stage/              what is being made; it moves to its place in one step, so nothing anywhere else is half-written
//! lock/               files that keep processes from making the same thing twice; nothing else depends on them
//! ```
//! Folders have the mode 0700, libraries 0500 and texts 0400, whatever the umask. The index says which bytes a result has, and a result with others, or
//! that others may write to, is made again; what belongs to another user is refused. The folder may be deleted at any time.

use std::env;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use opforge_core::{Error, ErrorKind, Result};
use opforge_runtime::vm;
use tempfile::TempDir;

use super::private::{self, refused};
use super::{Options, Settings, fault};

/// How often a lock or a process that is waited for is looked at.
pub(super) const POLL: Duration = Duration::from_millis(2);

/// Stages that have not changed for so long were left by processes that were killed.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Cache {
    /// Its folder, by a path that names nothing else as long as this process lives.
    pub root: PathBuf,
    /// The folder's own path.
    place: PathBuf,
}

impl Cache {
    /// The folder that the options or settings name, or else the user's, or else a temporary one.
    pub fn open(options: &Options, settings: &Settings) -> Result<Self> {
        if let Some(folder) = options.cache.as_ref().or(settings.cache.as_ref()) {
            return Self::at(folder);
        }
        let of_user = settings.user_cache.as_ref().map(|folder| Self::at(&folder.join("opforge/custom")));
        if let Some(Ok(cache)) = of_user {
            return Ok(cache);
        }
        let name = format!("opforge-{}", rustix::process::geteuid().as_raw());
        let temporary = env::temp_dir();
        let temporary = temporary.canonicalize().map_err(|error| fault(&temporary, error))?;
        let cache = Self::at(&temporary.join(&name))?;
        // Anybody may make a link there, to another folder of this user's.
        if cache.place != temporary.join(name) {
            return Err(refused(&cache.place, "is reached by a link"));
        }
        Ok(cache)
    }

    fn at(folder: &Path) -> Result<Self> {
        let (place, root) = private::root(folder)?;
        Ok(Cache { root, place })
    }

    /// An error of the file system, as one about the cache.
    pub fn blame(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Io => fault(&self.place, format!("cannot be used as opforge's cache: {error}")),
            _ => error,
        }
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
        let file = File::options().create(true).append(true).mode(0o600).open(path)?;
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

    /// A folder of files with these contents, at a place in the cache that belongs to them: a folder's name, and a name in it.
    pub fn materialise(&self, folder: &str, name: &str, files: &[(&str, impl AsRef<[u8]>)]) -> Result<PathBuf> {
        let place = self.folder(folder)?.join(name);
        let digests: Vec<_> =
            files.iter().map(|(name, contents)| (PathBuf::from(name), blake3::hash(contents.as_ref()))).collect();
        if private::is_sealed(&place, &digests)? {
            return Ok(place);
        }
        let stage = self.stage()?;
        let product = stage.path().join("product");
        for (name, contents) in files {
            let file = product.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&product))?;
            fs::write(file, contents)?;
        }
        private::seal(&product, private::TEXT)?;
        // Another process may have made it meanwhile.
        if place.is_dir() && !private::is_sealed(&place, &digests)? {
            fs::remove_dir_all(&place)?;
        }
        move_to(&product, &place)?;
        Ok(place)
    }

    /// A folder of the cache's, made if need be.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join(name);
        private::folder(&folder)?;
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
