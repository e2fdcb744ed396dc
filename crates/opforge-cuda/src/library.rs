//! NVIDIA's libraries, found and opened while a program runs: one build serves machines with and without them.
//!
//! A library is a table of the functions that are used, each looked up once. Bindings such as cudarc's panic where a library or a function is missing;
//! here that is an error, which says what was looked for.

use std::env;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;

use libloading::Library;
use opforge_core::Error;

use crate::driver::Handle;

/// Folders that programs have named: see [`search_in`].
static NAMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has libraries looked for in these folders too, such as those of installed packages, before the first device is opened.
pub fn search_in(folders: impl IntoIterator<Item = PathBuf>) {
    NAMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(folders);
}

/// The folders before the system's: `OPFORGE_CUDA_PATH`, those that were named, those of a toolkit.
fn folders() -> Vec<PathBuf> {
    let listed = env::var_os("OPFORGE_CUDA_PATH").map_or_else(Vec::new, |paths| env::split_paths(&paths).collect());
    let named = NAMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]).map(|root| root.join("lib64"));
    listed.into_iter().chain(named).chain(toolkits).collect()
}

/// Opens the first library of these names that is there: in a folder of ours, or where the system looks. Programs never close it: what it gave
/// lives as long as they do.
pub(crate) fn open(names: &[&str]) -> Result<&'static Library, String> {
    let folders = folders();
    let ours = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let there = ours.filter(|path| path.is_file()).chain(names.iter().map(|name| Path::new(name).to_owned()));
    let mut missing = String::new();
    for path in there {
        // SAFETY: these are NVIDIA's libraries by their names, whose initialisers prepare them and nothing else.
        match unsafe { Library::new(&path) } {
            Ok(library) => return Ok(Box::leak(Box::new(library))),
            Err(error) => missing = error.to_string(),
        }
    }
    Err(missing)
}

/// The error of who needs a library that is not there.
pub(crate) fn absent(what: &'static str, missing: &str) -> Error {
    Error::device("cuda", "library", what, format!("one that can be opened ({missing})"))
}

/// Gives back what a library made, to the library.
pub(crate) type Destroy = unsafe extern "C" fn(Handle) -> c_int;

/// What a library keeps of a tensor or a call, in the host's memory, as long as this lives.
pub(crate) struct Descriptor {
    pub at: Handle,
    destroy: Destroy,
}

// SAFETY: it is memory of the host's, which any thread may destroy.
unsafe impl Send for Descriptor {}
// SAFETY: what has it calls the library, which is unsafe, and says who may.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// What a function of the library makes; none if it fails.
    ///
    /// # Safety
    /// The function writes a handle where it gives 0, which `destroy` takes and which is nobody else's.
    pub unsafe fn new(create: impl FnOnce(*mut Handle) -> c_int, destroy: Destroy) -> Option<Self> {
        let mut at = ptr::null_mut();
        (create(&mut at) == 0).then_some(Descriptor { at, destroy })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the library made it to be destroyed so, and nobody has it any more.
        unsafe { (self.destroy)(self.at) };
    }
}

/// A table of C functions that give a status: each field is the function of that symbol, with these types of arguments.
macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $symbol:literal ($($argument:ty),*);)* }) => {
        $(#[$doc])*
        pub(crate) struct $name {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> std::ffi::c_int,)*
        }
        impl $name {
            /// Looks all of them up.
            pub fn of(library: &'static libloading::Library) -> Result<Self, String> {
                let lacks = |error: libloading::Error| error.to_string();
                // SAFETY: functions of these symbols have these types since CUDA 11.2, and the library is never closed.
                unsafe {
                    Ok($name { $($field: *library.get(concat!($symbol, "\0").as_bytes()).map_err(lacks)?,)* })
                }
            }
        }
    };
}
pub(crate) use functions;
