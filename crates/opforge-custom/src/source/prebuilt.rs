//! Libraries that are there already: copied, together with those that they look for relative to their own folder.
//!
//! The copies keep their places relative to each other, so the loader finds them as it would find the originals, but by names of their own ([`own_names`]).

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use blake3::{Hash, Hasher};
use opforge_core::Result;

use super::allow::{self, Opened};
use super::dynamic::{Dynamic, Folder};
use super::entry::{Entry, Key, Request};
use super::names::{Copied, own_names};
use super::obtain::obtain;
use super::{Artifact, Dependency, Job, Settings, Target, dependencies};

pub(super) fn locate(opened: Opened, job: &Job<'_>) -> Result<Artifact> {
    let Opened { given, resolved, .. } = opened;
    let request = Request::new(Key::new("library").part(&given), &given);
    let update = |library: &mut Dependency| {
        let Opened { file, .. } = allow::open(&library.path, job.settings)?;
        Ok(library.update_from(&file.metadata()?, |_| Ok(file))?)
    };
    let make = |stage: &Path| copy_all(&given, job.settings, stage);
    let found = obtain(&job.cache, &request, job.options.timeout, update, make)?;
    // What the copies need besides each other is held to the allow-lists.
    let copies = found.digests.0.iter().map(|(inner, _)| found.part(inner));
    copies.into_iter().try_for_each(|copy| dependencies::check_libraries(&given, &copy, job.settings))?;
    let Entry { target, dependencies: sources, .. } = found.entry;
    Ok(Artifact { file: found.file, origin: resolved, key: found.key, target, sources })
}

/// Copies a library, and those that it needs from folders relative to its own.
fn copy_all(path: &Path, settings: &Settings, stage: &Path) -> Result<(PathBuf, Entry)> {
    let (mut paths, mut copies, mut dependencies) = (vec![path.to_owned()], Vec::new(), Vec::new());
    while let Some(path) = paths.get(copies.len()).cloned() {
        let Opened { file, .. } = allow::open(&path, settings)?;
        let (metadata, copy) = (file.metadata()?, stage.join(format!("copy{}", copies.len())));
        let hash = copy_hashed(file, &copy)?;
        dependencies.push(Dependency::known(&path, &metadata, hash));
        let dynamic = Dynamic::of(&fs::read(&copy)?);
        let needs: Vec<PathBuf> = neighbours(&path, &dynamic).collect();
        paths.extend(needs.iter().filter(|need| !paths.contains(need)).cloned().collect::<Vec<_>>());
        copies.push(Copied { path, file: copy, hash, dynamic, needs });
    }
    let target = if copies.iter().any(|copy| copy.dynamic.has_gpu_code) { Target::Cuda } else { Target::Cpu };
    let named = own_names(&copies)?;
    if let [copy] = &copies[..] {
        return Ok((copy.file.clone(), Entry { target, inner: PathBuf::new(), dependencies }));
    }
    let (product, folder) = (stage.join("libraries"), common_folder(&paths));
    let inside = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_owned();
    for (copy, path) in copies.iter().zip(&named) {
        let place = product.join(inside(path));
        fs::create_dir_all(place.parent().unwrap_or(&product))?;
        fs::rename(&copy.file, place)?;
    }
    Ok((product, Entry { target, inner: inside(&named[0]), dependencies }))
}

/// The needed libraries that the loader finds in folders relative to the library's own.
fn neighbours(path: &Path, dynamic: &Dynamic) -> impl Iterator<Item = PathBuf> {
    let own = path.parent().unwrap_or(Path::new("/"));
    dynamic.needed.iter().filter_map(move |name| {
        let mut candidates = dynamic.folders.iter().map(|folder| match folder {
            Folder::Origin(inner) => (true, without_dots(&own.join(inner).join(name))),
            Folder::Named(folder) => (false, Path::new(folder).join(name)),
        });
        let (is_beside, found) = candidates.find(|(_, candidate)| candidate.is_file())?;
        is_beside.then_some(found)
    })
}

/// `a/b/../c` as `a/c`.
fn without_dots(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

/// The innermost folder that all these files are below of.
fn common_folder(paths: &[PathBuf]) -> &Path {
    let is_common = |folder: &&Path| paths.iter().all(|path| path.starts_with(folder));
    paths[0].ancestors().skip(1).find(is_common).unwrap_or(Path::new("/"))
}

/// Copies an open file; the hash of what was copied, which is on the disk when this returns.
fn copy_hashed(mut from: File, to: &Path) -> io::Result<Hash> {
    let (mut to, mut hasher) = (File::create(to)?, Hasher::new());
    let mut buffer = vec![0; 1 << 20];
    while let count @ 1.. = from.read(&mut buffer)? {
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
    }
    to.sync_all()?;
    Ok(hasher.finalize())
}
