//! Files that a library is made from, or that the loader opens with it, held to the allow-lists: headers, and libraries that it needs.
//!
//! Besides what the lists allow, files of the system are accepted, and those of the compiler's own installation.

use std::fs;
use std::path::{Path, PathBuf};

use opforge_core::Result;

use super::allow::{self, allowed};
use super::dynamic::{Dynamic, Folder};
use super::{Dependency, Settings, fault};

/// Where systems keep headers and libraries.
const SYSTEM: [&str; 9] =
    ["/usr", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/Library", "/System", "/opt/cuda"];

/// Where installations of compilers keep theirs, beside the folder of their programs.
const INSTALLED: [&str; 6] = ["include", "lib", "lib64", "libexec", "nvvm", "targets"];

/// Folders whose files are accepted without being on a list: the system's, and those of these programs' installations.
pub(super) fn system(programs: &[PathBuf]) -> Vec<PathBuf> {
    let homes = programs.iter().filter_map(|program| Some(program.canonicalize().ok()?.parent()?.parent()?.to_owned()));
    // A program in /bin or /usr/bin adds nothing to the system's folders, and must not add the root.
    let homes = homes.filter(|home| home.parent().is_some());
    let installed = homes.flat_map(|home| INSTALLED.map(|folder| home.join(folder)));
    let system = SYSTEM.iter().map(PathBuf::from).filter_map(|folder| folder.canonicalize().ok());
    system.chain(installed).collect()
}

/// Holds the files that a source included to the lists.
///
/// # Errors
/// For one that is not accepted.
pub(super) fn check_headers(
    source: &Path,
    headers: &[Dependency],
    system: &[PathBuf],
    settings: &Settings,
) -> Result<()> {
    if settings.allow.is_empty() {
        return Ok(());
    }
    headers.iter().try_for_each(|header| {
        let refusal = |reason: String| fault(source, format!("includes {}: {reason}", header.path.display()));
        let found = allow::resolved(&header.path).map_err(|error| refusal(error.to_string()))?;
        allowed(&found, system, settings).map_err(refusal)
    })
}

/// Holds the libraries that the loader opens with this one by absolute paths to the lists, and the folders where it looks for them. Those that it finds
/// relative to the library's own folder have been copied, and were checked then; by name alone it finds those of the system.
///
/// # Errors
/// For what is not accepted.
pub(super) fn check_libraries(named: &Path, library: &Path, settings: &Settings) -> Result<()> {
    if settings.allow.is_empty() {
        return Ok(());
    }
    let check = Libraries { named, system: system(&[]), settings };
    let mut rest = vec![library.to_owned()];
    let mut seen = rest.clone();
    while let Some(library) = rest.pop() {
        for needed in check.needed_by(&library)? {
            if !seen.contains(&needed) {
                seen.push(needed.clone());
                rest.push(needed);
            }
        }
    }
    Ok(())
}

struct Libraries<'a> {
    /// The library that errors name.
    named: &'a Path,
    system: Vec<PathBuf>,
    settings: &'a Settings,
}

impl Libraries<'_> {
    /// The libraries that this one needs, as far as they are on a list; the system's are not looked into.
    fn needed_by(&self, library: &Path) -> Result<Vec<PathBuf>> {
        let dynamic = Dynamic::of(&fs::read(library).map_err(|error| fault(library, error))?);
        let mut found = Vec::new();
        for folder in &dynamic.folders {
            let Folder::Named(folder) = folder else { continue };
            self.check_folder(folder)?;
            found.extend(dynamic.needed.iter().map(|name| Path::new(folder).join(name)).filter(|path| path.exists()));
        }
        found.extend(dynamic.paths.iter().map(PathBuf::from));
        let checked = found.into_iter().map(|path| self.check_file(&path));
        checked.filter_map(Result::transpose).collect()
    }

    /// Whether or not there is such a folder now: it may be made before the loader looks.
    fn check_folder(&self, folder: &str) -> Result<()> {
        let path = Path::new(folder);
        if !path.is_absolute() || folder.contains('$') {
            return Err(self.refusal("looks for libraries in", folder, "accepted are absolute paths, and $ORIGIN"));
        }
        let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
        let resolved = existing.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
        let judged = allowed(&resolved.unwrap_or_default(), &self.system, self.settings);
        judged.map_err(|reason| self.refusal("looks for libraries in", folder, reason))
    }

    fn check_file(&self, path: &Path) -> Result<Option<PathBuf>> {
        let text = path.display().to_string();
        if !path.is_absolute() || text.contains('$') {
            return Err(self.refusal("needs", text, "accepted are file names, and absolute paths"));
        }
        let found = allow::resolved(path).map_err(|error| self.refusal("needs", &text, error))?;
        if self.system.iter().any(|folder| found.starts_with(folder)) {
            return Ok(None);
        }
        allowed(&found, &[], self.settings).map_err(|reason| self.refusal("needs", text, reason))?;
        Ok(Some(found))
    }

    fn refusal(&self, does: &str, what: impl std::fmt::Display, reason: impl std::fmt::Display) -> opforge_core::Error {
        fault(self.named, format!("{does} {what}: {reason}"))
    }
}
