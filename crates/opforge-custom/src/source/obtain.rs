//! Results are found by what they were made from.

use std::env;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use opforge_core::Result;
use tempfile::NamedTempFile;

use super::cache::{Cache, move_to};
use super::entry::{Digests, Entry, Request};
use super::{Dependency, private};

/// A result in its place.
pub(super) struct Found {
    pub file: PathBuf,
    pub key: String,
    pub entry: Entry,
    pub digests: Digests,
}

impl Found {
    /// The file or folder that is the whole result.
    fn place(&self) -> &Path {
        self.file.ancestors().nth(self.entry.inner.components().count()).unwrap_or(&self.file)
    }

    /// A file of the result.
    pub fn part(&self, inner: &Path) -> PathBuf {
        if inner.as_os_str().is_empty() { self.file.clone() } else { self.place().join(inner) }
    }
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
    if let Some(found) = find(cache, request, &update)? {
        return Ok(found);
    }
    let _lock = cache.lock(&request.name(), patience)?;
    if let Some(found) = find(cache, request, &update)? {
        return Ok(found);
    }
    let stage = cache.stage()?;
    let (product, entry) = make(stage.path())?;
    keep(cache, request, &product, entry)
}

/// The result, if its files hold what they held when it was made. What is opened afterwards is the same, since only this user can write there.
fn find(cache: &Cache, request: &Request, update: impl Fn(&mut Dependency) -> Result<bool>) -> Result<Option<Found>> {
    let Some(mut entry) = Entry::read(&index(cache, &request.name()))? else { return Ok(None) };
    let mut is_new = false;
    for dependency in &mut entry.dependencies {
        match update(dependency) {
            Ok(changed) => is_new |= changed,
            Err(_) => return Ok(None),
        }
    }
    let mut found = placed(cache, request, entry);
    found.digests = Digests::read(&index(cache, &found.key))?;
    if !private::is_sealed(found.place(), &found.digests.0)? {
        return Ok(None);
    }
    if is_new {
        // Only saves work the next time.
        let _ = note(cache, &request.name(), |out| found.entry.write(out));
    }
    Ok(Some(found))
}

fn keep(cache: &Cache, request: &Request, product: &Path, entry: Entry) -> Result<Found> {
    let mut found = placed(cache, request, entry);
    found.digests = Digests(private::seal(product, private::LIBRARY)?);
    let place = found.place();
    if place.is_dir() && !private::is_sealed(place, &found.digests.0)? {
        fs::remove_dir_all(place)?;
    }
    move_to(product, place)?;
    note(cache, &found.key, |out| found.digests.write(out))?;
    note(cache, &request.name(), |out| found.entry.write(out))?;
    Ok(found)
}

fn placed(cache: &Cache, request: &Request, entry: Entry) -> Found {
    let key = entry.key(request);
    let name = format!("{}_{key}", request.stem);
    let file = match entry.inner.as_os_str().is_empty() {
        true => cache.root.join(name + env::consts::DLL_SUFFIX),
        false => cache.root.join(name).join(&entry.inner),
    };
    Found { file, key, entry, digests: Digests::default() }
}

fn index(cache: &Cache, name: &str) -> PathBuf {
    cache.root.join("index").join(name)
}

fn note(
    cache: &Cache,
    name: &str,
    write: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<()>,
) -> Result<()> {
    let mut file = NamedTempFile::new_in(cache.folder("stage")?)?;
    let mut out = BufWriter::new(&mut file);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    cache.folder("index")?;
    file.persist(index(cache, name)).map_err(|failure| failure.error)?;
    Ok(())
}
