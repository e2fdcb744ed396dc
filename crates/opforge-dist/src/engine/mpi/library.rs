//! Finding the MPI library.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;
use opforge_core::Result;

use crate::Fault;

/// The file's names. The numbered one comes first: Python wheels hold a linker's text under the other.
#[cfg(not(target_os = "macos"))]
const NAMES: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so"];
#[cfg(target_os = "macos")]
const NAMES: [&str; 2] = ["libmpi_abi.1.dylib", "libmpi_abi.dylib"];

/// An environment that a front end runs in.
static ENVIRONMENT: OnceLock<PathBuf> = OnceLock::new();

/// Has a library of this environment found too, after those of the environments that variables name; the first that is given.
pub(super) fn look_in(environment: PathBuf) {
    let _ = ENVIRONMENT.set(environment);
}

/// Opens the first library that can be opened of [`candidates`].
///
/// # Errors
/// None can be; the error says where it was looked for and what the loader said.
pub(super) fn open() -> Result<(Library, PathBuf)> {
    let mut tried = Vec::new();
    for file in candidates(&|name| env::var_os(name)) {
        if file.is_absolute() && !file.exists() {
            continue;
        }
        // SAFETY: initialisers of an MPI library run; the user named it, or it lies where the system or the environment keeps libraries.
        match unsafe { Library::new(&file) } {
            Ok(library) => return Ok((library, file)),
            Err(error) => tried.push(format!("{}: {}", file.display(), reason(&error))),
        }
    }
    let message = format!(
        "no MPI library with the standard ABI (libmpi_abi) can be opened; `pip install mpich` (5.0 or later) brings one, OPFORGE_MPI names one; tried {}",
        tried.join("; ")
    );
    Err(Fault::Unavailable { message }.into())
}

fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Where the library may be: what `OPFORGE_MPI` names (a file or a folder), and nothing else if it is set; beside `mpiexec` of PATH; in the Python
/// environment; where the system looks. First of all beside the program that started this process, which is MPICH's launcher under `mpiexec`.
fn candidates(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if let Some(named) = variable("OPFORGE_MPI").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_dir() { within(&named) } else { vec![named] };
    }
    let path = variable("PATH").unwrap_or_default();
    let launcher = env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|file| file.is_file());
    let resolved = launcher.as_ref().and_then(|file| file.canonicalize().ok());
    let beside = parent()
        .into_iter()
        .chain(launcher)
        .chain(resolved)
        .filter_map(|file| Some(file.parent()?.parent()?.to_owned()));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable).map(PathBuf::from);
    let environments = environments.chain(ENVIRONMENT.get().cloned());
    let folders = beside.chain(environments).map(|folder| folder.join("lib"));
    folders.flat_map(|folder| within(&folder)).chain(NAMES.map(PathBuf::from)).collect()
}

/// The program that started this process, where the system tells.
fn parent() -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    return std::fs::read_link(format!("/proc/{}/exe", std::os::unix::process::parent_id())).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

fn within(folder: &Path) -> Vec<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_library_alone_is_looked_for() {
        let file = candidates(&|name| (name == "OPFORGE_MPI").then(|| "/somewhere/libmine.so".into()));
        assert_eq!(file, [PathBuf::from("/somewhere/libmine.so")]);
    }

    #[test]
    fn environments_come_before_the_system() {
        let files = candidates(&|name| (name == "VIRTUAL_ENV").then(|| "/env".into()));
        let environment = files.iter().position(|file| *file == Path::new("/env/lib").join(NAMES[0]));
        let system = files.iter().position(|file| *file == Path::new(NAMES[0]));
        assert!(environment.is_some() && environment < system, "{files:?}");
    }
}
