//! `path:Name`, as users write it.

use std::path::PathBuf;
use std::str::FromStr;

use opforge_core::{Error, Result};

/// A file and the function in it that is an operator's kernel.
///
/// ```
/// use opforge_custom::source::Source;
///
/// let source: Source = "kernels/add.cc:CustomAdd".parse()?;
/// assert_eq!(source.path.to_str(), Some("kernels/add.cc"));
/// assert_eq!(source.function, "CustomAdd");
/// # Ok::<(), opforge_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// A source file (`.c`, `.cc`, `.cpp`, `.cxx`, `.cu`), or else a library.
    pub path: PathBuf,
    /// The main function's name; those of the others begin with it.
    pub function: String,
}

impl FromStr for Source {
    type Err = Error;

    /// The last `:` separates.
    fn from_str(text: &str) -> Result<Self> {
        let fits = |(path, function): &(&str, &str)| !path.is_empty() && is_identifier(function);
        let accepted = "path:Name, as kernel.cc:CustomAdd";
        let wrong = || Error::value("custom operator", "source", format!("{text:?}"), accepted);
        let (path, function) = text.rsplit_once(':').filter(fits).ok_or_else(wrong)?;
        Ok(Source { path: path.into(), function: function.to_owned() })
    }
}

/// Whether a text is a name in C.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
