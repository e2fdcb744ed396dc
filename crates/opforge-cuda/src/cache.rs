//! Compiled kernels on disk, by content: a process compiles none that one before it has compiled.
//!
//! They lie in the folder that `OPFORGE_CUDA_CACHE` names (none are kept if it is empty), or else in `opforge/cuda` of the user's folder for caches.
//! A file has the hash of what it was compiled from for a name, and begins with the hash of the rest, so that what was cut off is compiled again.
//! A cache that cannot be used is none: nothing fails for it.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const HASH: usize = blake3::OUT_LEN;

/// The folder, if there is one that only the user may write to.
fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = match env::var_os("OPFORGE_CUDA_CACHE") {
            Some(named) if named.is_empty() => return None,
            Some(named) => PathBuf::from(named),
            None => set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?.join("opforge/cuda"),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let is_own = fs::metadata(&folder).ok()?.permissions().mode() & 0o022 == 0;
        is_own.then_some(folder)
    };
    FOLDER.get_or_init(find).as_ref()
}

/// The code that was compiled from these parts, or else what `compile` gives, which is kept.
///
/// # Errors
/// Those of `compile`.
pub(crate) fn kept<E>(parts: &[&str], compile: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
    let Some(folder) = folder() else { return compile() };
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
    }
    let path = folder.join(hasher.finalize().to_hex().as_str());
    let intact = |bytes: &Vec<u8>| bytes.len() > HASH && blake3::hash(&bytes[HASH..]).as_bytes()[..] == bytes[..HASH];
    if let Some(mut bytes) = fs::read(&path).ok().filter(intact) {
        bytes.drain(..HASH);
        return Ok(bytes);
    }
    let code = compile()?;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let stage = folder.join(format!("stage-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let bytes = [&blake3::hash(&code).as_bytes()[..], &code].concat();
    if fs::write(&stage, bytes).and_then(|()| fs::rename(&stage, &path)).is_err() {
        // A full disk is no reason to fail.
        let _ = fs::remove_file(&stage);
    }
    Ok(code)
}
