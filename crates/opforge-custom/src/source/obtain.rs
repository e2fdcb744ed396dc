//! Results are found by what they were made from.

use std::env;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use opforge_core::{Context, Result};
use tempfile::NamedTempFile;

use super::Dependency;
use super::cache::{Cache, move_to};
use super::entry::{Entry, Request};

/// A result in its place.
pub(super) struct Found {
    pub file: PathBuf,
    pub key: String,
    pub entry: Entry,
}

/// The result of a request, made now if it is not there.
///
/// `update` brings the state of a file that the result was made from up to date, and says whether its stamp is new; with an error, the result counts as
/// missing. `make` makes it in an empty folder: a library, or a folder of libraries. Whoever makes the same is waited for, at most `patience`.
pub(super) fn obtain(
    cache: &Cache,
    request: &Request,
    patience: Duration,
    update: impl Fn(&mut Dependency) -> Result<bool>,
    make: impl FnOnce(&Path) -> Result<(PathBuf, Entry)>,
) -> Result<Found> {
    if let Some(found) = find(cache, request, &update) {
        return Ok(found);
    }
    let _lock = cache.lock(&request.name(), patience)?;
    if let Some(found) = find(cache, request, &update) {
        return Ok(found);
    }
    let stage = cache.stage()?;
    let (product, entry) = make(stage.path())?;
    keep(cache, request, &product, entry).with_context(|| format!("writing to the cache {}", cache.root.display()))
}

fn find(cache: &Cache, request: &Request, update: impl Fn(&mut Dependency) -> Result<bool>) -> Option<Found> {
    let mut entry = Entry::read(&index(cache, request))?;
    let mut is_new = false;
    for dependency in &mut entry.dependencies {
        is_new |= update(dependency).ok()?;
    }
    let found = placed(cache, request, entry);
    if !found.file.is_file() {
        return None;
    }
    if is_new {
        // Only saves work the next time.
        let _ = note(cache, request, &found.entry);
    }
    Some(found)
}

fn keep(cache: &Cache, request: &Request, product: &Path, entry: Entry) -> Result<Found> {
    let inner_depth = entry.inner.components().count();
    let found = placed(cache, request, entry);
    let place = found.file.ancestors().nth(inner_depth).unwrap_or(&found.file);
    if place.is_dir() && !found.file.exists() {
        fs::remove_dir_all(place)?;
    }
    move_to(product, place)?;
    note(cache, request, &found.entry)?;
    Ok(found)
}

fn placed(cache: &Cache, request: &Request, entry: Entry) -> Found {
    let key = entry.key(request);
    let name = format!("{}_{key}", request.stem);
    let file = match entry.inner.as_os_str().is_empty() {
        true => cache.root.join(name + env::consts::DLL_SUFFIX),
        false => cache.root.join(name).join(&entry.inner),
    };
    Found { file, key, entry }
}

fn index(cache: &Cache, request: &Request) -> PathBuf {
    cache.root.join("index").join(request.name())
}

fn note(cache: &Cache, request: &Request, entry: &Entry) -> Result<()> {
    let mut file = NamedTempFile::new_in(cache.folder("stage")?)?;
    let mut out = BufWriter::new(&mut file);
    entry.write(&mut out)?;
    out.flush()?;
    drop(out);
    cache.folder("index")?;
    file.persist(index(cache, request)).map_err(|failure| failure.error)?;
    Ok(())
}
