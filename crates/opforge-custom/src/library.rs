//! An open library and the functions of one operator in it.

use std::ffi::c_void;
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
use opforge_core::{Error, Result};

use crate::abi::{Address, Variant};
use crate::elf;

/// The newest version of the interface that this crate knows (`OPFORGE_KERNEL_ABI`).
pub(crate) const KERNEL_ABI: u32 = 1;

/// Who is to blame when something goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The operator's name.
    pub op: String,
    /// The library or source, as the user named it.
    pub library: String,
    /// The main function.
    pub function: String,
}

impl Place {
    /// Of an operator that has its function's name.
    pub fn new(library: &Path, function: &str) -> Self {
        Place { op: function.to_owned(), library: library.display().to_string(), function: function.to_owned() }
    }

    /// An error of this operator.
    #[cold]
    pub fn fault(&self, message: impl std::fmt::Display) -> Error {
        Error::custom(&self.op, &self.library, &self.function, message)
    }
}

/// The functions of one operator; null where the library has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Symbols {
    pub main: Address,
    pub init: Address,
    pub infer: Address,
    pub infer_shape: Address,
    pub infer_type: Address,
    pub last_error: Address,
}

/// A library with an operator in it. It stays open as long as this lives.
pub(crate) struct Library {
    pub symbols: Symbols,
    pub variant: Variant,
    /// `None` for a library that is never closed.
    _handle: Option<Handle>,
}

// SAFETY: the addresses are of functions, and the library stays open.
unsafe impl Send for Library {}
// SAFETY: the addresses do not change, and the library stays open; what may be called at the same time is the callers' business.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a library and finds the functions whose names begin with `function`.
    ///
    /// # Errors
    /// The dynamic loader's whole message; a missing main function, with names that come near; an interface newer than this crate's.
    pub fn open(file: &Path, place: &Place) -> Result<Self> {
        // SAFETY: running a library's initialisers is what users ask for by naming it; the allow-list is checked before.
        let handle = unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let handle =
            handle.map_err(|error| place.fault(format_args!("cannot be opened: {}", loader_message(&error))))?;
        let names = elf::Names::of(file);
        check_version(version(&handle), place)?;
        let find = |suffix: &str| address(&handle, &format!("{}{suffix}", place.function));
        let main = find("");
        if main.is_null() {
            return Err(place.fault(names.missing(&place.function)));
        }
        let symbols = Symbols {
            main,
            init: find("Init"),
            infer: find("Infer"),
            infer_shape: find("InferShape"),
            infer_type: find("InferType"),
            last_error: find("LastError"),
        };
        let stays = !address(&handle, "opforge_kernel_resident").is_null();
        let variant = names.variant(!address(&handle, "opforge_kernel_dual_abi").is_null());
        let mut handle = Some(handle);
        if stays {
            std::mem::forget(handle.take());
        }
        Ok(Library { symbols, variant, _handle: handle })
    }
}

fn loader_message(error: &libloading::Error) -> String {
    // The loader's own words are the source of the error, where there is one.
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A symbol's address, or null.
fn address(handle: &Handle, name: &str) -> Address {
    // SAFETY: the symbol is taken as an address only.
    unsafe { handle.get::<*const c_void>(name.as_bytes()) }
        .map_or(std::ptr::null(), |symbol| symbol.into_raw().cast_const())
}

/// The version of the interface that a library states, if it does.
fn version(handle: &Handle) -> Option<u32> {
    let at = address(handle, "opforge_kernel_abi").cast::<u32>();
    // SAFETY: a symbol of this name is the version that `opforge/kernel.h` defines.
    (!at.is_null()).then(|| unsafe { at.read_unaligned() })
}

/// Whether this crate knows the version of the interface that a library states.
pub(crate) fn check_version(stated: Option<u32>, place: &Place) -> Result<()> {
    match stated {
        Some(version) if !(1..=KERNEL_ABI).contains(&version) => Err(place.fault(format_args!(
            "was built for version {version} of the kernel interface; versions 1 to {KERNEL_ABI} are known"
        ))),
        _ => Ok(()),
    }
}
