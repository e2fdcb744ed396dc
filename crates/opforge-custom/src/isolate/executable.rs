//! The worker's program, which is part of this crate, and starting it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};

use crate::source::{self, Options};

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/opforge-worker"));

/// Starts the program as `configure` says: from memory, where nothing can be exchanged or left behind; or else, for systems that execute files
/// only, from the cache.
pub(super) fn spawn(mut configure: impl FnMut(&mut Command) -> io::Result<()>) -> io::Result<Child> {
    let mut start = |path: io::Result<PathBuf>| {
        let mut command = Command::new(path?);
        configure(&mut command)?;
        command.spawn()
    };
    start(in_memory()).or_else(|_| start(in_cache(&Options::default())))
}

/// A path that is valid in this process and its children, until they execute something.
fn in_memory() -> io::Result<PathBuf> {
    static FILE: Mutex<Option<File>> = Mutex::new(None);
    let mut kept = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = match kept.take() {
        Some(file) => file,
        None => write()?,
    };
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    *kept = Some(file);
    Ok(path.into())
}

#[cfg(target_os = "linux")]
fn write() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag, and do not need it.
    let made = memfd_create("opforge-worker", flags | MemfdFlags::EXEC);
    let mut file = File::from(made.or_else(|_| memfd_create("opforge-worker", flags))?);
    file.write_all(PROGRAM)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(not(target_os = "linux"))]
fn write() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn in_cache(options: &Options) -> io::Result<PathBuf> {
    source::program("opforge-worker", PROGRAM, options).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_runs_from_either_place() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { cache: Some(folder.path().to_owned()), ..Options::default() };
        for path in [in_memory(), in_cache(&options)] {
            // Without a parent it has nothing to do.
            let status = Command::new(path.unwrap()).stdin(std::process::Stdio::null()).status().unwrap();
            assert_eq!(status.code(), Some(1));
        }
    }
}
