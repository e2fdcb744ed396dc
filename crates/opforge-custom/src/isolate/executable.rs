//! The worker's program, which is part of this crate: kept in memory, so that nothing lies on a disk that could be exchanged or left behind.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags};

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/opforge-worker"));

/// What to execute. It is valid as long as this process lives, and in its children until they execute something.
pub(super) fn path() -> io::Result<PathBuf> {
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

fn write() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag, and do not need it.
    let made = rustix::fs::memfd_create("opforge-worker", flags | MemfdFlags::EXEC);
    let made = made.or_else(|_| rustix::fs::memfd_create("opforge-worker", flags))?;
    let mut file = File::from(made);
    file.write_all(PROGRAM)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}
