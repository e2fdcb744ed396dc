//! Names of their own for libraries that are copied together.
//!
//! A loader gives a library whatever the process has open under the name that it needs, wherever that was found: of two libraries that bring a
//! `libhelper.so` each, the second would get the first's. So a copy that another needs is renamed by what it holds, as is what it calls itself; equal ones
//! stay one. The new name is as long as the old one and written in its place, so that nothing else in the file moves.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blake3::{Hash, Hasher};

use super::dynamic::{Dynamic, places};

/// Beginnings of the names that are not changed: of what a process has once, whoever brings it along.
const SHARED: [&str; 17] = [
    "ld-",
    "libc.",
    "libm.",
    "libdl.",
    "librt.",
    "libpthread.",
    "libgcc_s.",
    "libstdc++.",
    "libc++",
    "libgomp.",
    "libomp.",
    "libiomp",
    "libpython",
    "libmpi",
    "libnccl",
    "libcu",
    "libnv",
];

/// How much of a name is changed, at most: enough that no two are alike by chance.
const CHANGED: usize = 10;

/// A library that was copied.
pub(super) struct Copied {
    /// Where it came from.
    pub path: PathBuf,
    /// The copy.
    pub file: PathBuf,
    /// Of what it holds.
    pub hash: Hash,
    pub dynamic: Dynamic,
    /// The other copies that it needs.
    pub needs: Vec<PathBuf>,
}

/// Renames what these copies call each other, and themselves; where each was, with its new file name.
pub(super) fn own_names(copies: &[Copied]) -> io::Result<Vec<PathBuf>> {
    let mut bytes = copies.iter().map(|copy| fs::read(&copy.file)).collect::<io::Result<Vec<_>>>()?;
    let renamed: HashMap<&Path, String> = copies.iter().filter_map(|copy| renamed(copy, copies, &bytes)).collect();
    for (copy, bytes) in copies.iter().zip(&mut bytes) {
        let needed = copy.needs.iter().filter_map(|path| Some((file_name(path)?, renamed.get(&**path)?.clone())));
        let itself = copy.dynamic.soname.as_deref().map(|name| (name, own_name(name, &digest(copy, copies))));
        let mut is_changed = false;
        for (old, new) in needed.chain(itself) {
            for place in places(bytes, old) {
                bytes[place].copy_from_slice(new.as_bytes());
                is_changed = true;
            }
        }
        if is_changed {
            let mut file = File::create(&copy.file)?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
    }
    let place =
        |copy: &Copied| renamed.get(&*copy.path).map_or(copy.path.clone(), |name| copy.path.with_file_name(name));
    Ok(copies.iter().map(place).collect())
}

/// The new file name of a copy that others need, if all of them can be told.
fn renamed<'a>(copy: &'a Copied, copies: &[Copied], bytes: &[Vec<u8>]) -> Option<(&'a Path, String)> {
    let name = file_name(&copy.path)?;
    let mut needing = copies.iter().zip(bytes).filter(|(other, _)| other.needs.contains(&copy.path)).peekable();
    needing.peek()?;
    let can_change = needing.all(|(_, bytes)| !places(bytes, name).is_empty());
    can_change.then(|| (&*copy.path, own_name(name, &digest(copy, copies))))
}

/// The hash of what a copy holds, and of all that it needs.
fn digest(copy: &Copied, copies: &[Copied]) -> Hash {
    let (mut seen, mut rest, mut hashes) = (BTreeSet::new(), vec![copy], BTreeSet::new());
    while let Some(next) = rest.pop() {
        if seen.insert(&next.path) {
            hashes.insert(*next.hash.as_bytes());
            rest.extend(copies.iter().filter(|other| next.needs.contains(&other.path)));
        }
    }
    hashes.iter().fold(&mut Hasher::new(), |hasher, hash| hasher.update(hash)).finalize()
}

/// A name of the same length, whose last letters before the first dot follow from the digest: what comes after the dot tells kind and version.
fn own_name(name: &str, digest: &Hash) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let stem = name.find('.').filter(|_| !SHARED.iter().any(|shared| name.starts_with(shared))).unwrap_or(0);
    let kept = (0..=stem).rev().find(|&at| stem - at >= CHANGED.min(stem) && name.is_char_boundary(at)).unwrap_or(stem);
    let letters = digest.as_bytes().iter().cycle().map(|&byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
    let new: String = letters.take(stem - kept).collect();
    format!("{}{new}{}", &name[..kept], &name[stem..])
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_lengths_and_kinds() {
        let (one, two) = (blake3::hash(b"one"), blake3::hash(b"two"));
        for name in ["libhelper.so", "a.so", "libé.so.1.2", "libvery_long_name.so.3", "libdäöüäöüä.so"] {
            let (first, second) = (own_name(name, &one), own_name(name, &two));
            assert!(first != second && first != *name && first.len() == name.len(), "{name}: {first}, {second}");
            assert_eq!(first[first.find('.').unwrap()..], name[name.find('.').unwrap()..]);
        }
        assert!(own_name("libvery_long_name.so", &one).starts_with("libvery"));
        for name in ["libstdc++.so.6", "libc.so.6", "ld-linux-x86-64.so.2", "libcudart.so.12", ".so", "helper"] {
            assert_eq!(own_name(name, &one), name);
        }
    }
}
