//! The headers that kernels include, in the crate itself.

use std::path::PathBuf;
use std::sync::LazyLock;

use opforge_core::Result;

use super::cache::Cache;
use super::entry::{Key, short};
use super::{Options, Settings};

const HEADERS: [(&str, &str); 3] = [
    ("custom_aot_extra.h", include_str!("../../include/custom_aot_extra.h")),
    ("custom_aot_extra_dual_abi.h", include_str!("../../include/custom_aot_extra_dual_abi.h")),
    ("opforge/kernel.h", include_str!("../../include/opforge/kernel.h")),
];

static NAME: LazyLock<String> = LazyLock::new(|| {
    let mut key = Key::new("include");
    for (name, text) in HEADERS {
        key.part(name).part(text);
    }
    short(&key.finish())
});

/// The folder of the headers that kernels include, for compiling them by hand: `-I` it. Automatic compiles do.
///
/// # Errors
/// As those of [`locate`](super::locate) that concern the cache, where the folder is.
///
/// ```no_run
/// let folder = opforge_custom::source::include_dir()?;
/// assert!(folder.join("custom_aot_extra.h").is_file() && folder.join("opforge/kernel.h").is_file());
/// # Ok::<(), opforge_core::Error>(())
/// ```
pub fn include_dir() -> Result<PathBuf> {
    include_dir_with(&Options::default(), &Settings::from_env()?)
}

/// As [`include_dir`], in the cache of these options and settings.
///
/// # Errors
/// As [`include_dir`].
pub fn include_dir_with(options: &Options, settings: &Settings) -> Result<PathBuf> {
    place(&Cache::open(options, settings)?)
}

pub(super) fn place(cache: &Cache) -> Result<PathBuf> {
    cache.materialise("include", &NAME, &HEADERS).map_err(|error| cache.blame(error))
}
