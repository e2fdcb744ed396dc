//! Sources that are given as text.

use std::path::PathBuf;

use opforge_core::{Error, Result};

use super::cache::Cache;
use super::entry::{Key, short};
use super::spec::is_identifier;
use super::{Language, Options, Settings};

/// Writes a source text to a file in the cache, at a path that belongs to this text, for [`locate`](super::locate). Allow-lists concern this file as any
/// other.
///
/// # Errors
/// [`Error::Value`] if `name` is not a name in C; and those of [`locate`](super::locate) that concern the cache.
///
/// ```
/// use opforge_custom::source::{Language, Options, inline};
///
/// let folder = tempfile::tempdir()?;
/// let options = Options { cache: Some(folder.path().into()), ..Options::default() };
/// let file = inline("twice", Language::C, "int Twice(void) { return 2; }", &options)?;
/// assert!(file.ends_with("twice.c"));
/// # Ok::<(), opforge_core::Error>(())
/// ```
pub fn inline(name: &str, language: Language, text: &str, options: &Options) -> Result<PathBuf> {
    inline_with(name, language, text, options, &Settings::from_env()?)
}

/// As [`inline`], with settings given instead of the environment's.
///
/// # Errors
/// As [`inline`].
pub fn inline_with(
    name: &str,
    language: Language,
    text: &str,
    options: &Options,
    settings: &Settings,
) -> Result<PathBuf> {
    if !is_identifier(name) || name.len() > 100 {
        let accepted = "a name in C of at most 100 characters";
        return Err(Error::value("custom operator", "name", format!("{name:?}"), accepted));
    }
    let file = format!("{name}.{}", language.suffix());
    let key = short(&Key::new("inline").part(&file).part(text).finish());
    let cache = Cache::open(options, settings)?;
    let folder = cache.materialise("inline", &key, &[(&file, text)]).map_err(|error| cache.blame(error))?;
    Ok(folder.join(file))
}
