//! A program that is part of this crate, as a file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use opforge_core::Result;

use super::cache::Cache;
use super::entry::short;
use super::private::LIBRARY;
use super::{Options, Settings};

/// The file, which is the user's alone, in the cache of these options.
///
/// # Errors
/// As those of [`locate`](super::locate) that concern the cache.
pub(crate) fn program(name: &str, bytes: &[u8], options: &Options) -> Result<PathBuf> {
    let cache = Cache::open(options, &Settings::from_env()?)?;
    let made = cache.materialise("program", &short(&blake3::hash(bytes)), &[(name, bytes)]);
    let file = made.map_err(|error| cache.blame(error))?.join(name);
    if file.metadata()?.permissions().mode() & 0o100 == 0 {
        fs::set_permissions(&file, Permissions::from_mode(LIBRARY))?;
    }
    Ok(file)
}
