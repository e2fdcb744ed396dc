//! From `path:Name` to a library that may be opened: sources are compiled, and whatever is opened is a private copy of what was checked.
//!
//! Copies lie in a cache under names that follow from their content, where the loader finds them: a changed source is new code, never a library that
//! is loaded already.
//!
//! ```text
//! locate      opens the file once and checks where it really is (allow)
//!   source    compile: command line (flags), compiler (toolchain), child process (run), diagnostics (report)
//!   library   prebuilt: copied with the libraries that it expects beside itself (dynamic), which get names of their own (names)
//!     obtain  cache: one file per content, found through an index of what it was made from (entry, stamp, private)
//!   both      dependencies: headers and needed libraries are held to the allow-lists too
//! ```
//!
//! A result is found again without running anything, as long as the source's content, the headers that it included, the command line, the
//! compiler and the environment that compilers read are the same. Headers are believed unchanged while their size, times and inode are, and compared
//! by content otherwise. Two things are not noticed: a new header that would be found before one that was included, and a change of a library
//! that `flags` link in.

mod allow;
mod cache;
mod command;
mod compile;
mod dependencies;
mod depfile;
mod dynamic;
mod entry;
mod flags;
mod gpu;
mod headers;
mod inline;
mod names;
mod obtain;
mod prebuilt;
mod private;
mod program;
mod report;
mod run;
mod settings;
mod spec;
mod stamp;
mod toolchain;

use std::path::{Path, PathBuf};
use std::time::Duration;

use opforge_core::{Error, Result};

pub use headers::{include_dir, include_dir_with};
pub use inline::{inline, inline_with};
pub use settings::Settings;
pub use spec::Source;
pub use stamp::{Dependency, Stamp};

pub(crate) use program::program;

use cache::Cache;

/// How sources are compiled, and where results are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// Further arguments of the compiler; they come last, so they win. Where the environment has an allow-list ([`Settings::allow`]), only those are
    /// accepted that name no further file or program: what is optimised, defined, warned of (`-O3 -march=native -ffast-math -fopenmp -DN=4 -Wall -g`),
    /// folders of headers (`-I`), and libraries (`-l`) from allowed folders (`-L`) and the system's.
    pub flags: Vec<String>,
    /// Which command lines are used.
    pub flavour: Flavour,
    /// Folder of results; `None` is the environment's or the user's (see [`Settings`]).
    pub cache: Option<PathBuf>,
    /// Checks that the compiler builds in.
    pub sanitize: Vec<Sanitizer>,
    /// Folders of headers, searched after the source's own.
    pub include: Vec<PathBuf>,
    /// Folders of Python packages, where nvcc may be installed.
    pub search: Vec<PathBuf>,
    /// Whether compilers may be run. Results from before are used either way.
    pub compile: bool,
    /// How long a compiler may run.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            flags: Vec::new(),
            flavour: Flavour::Default,
            cache: None,
            sanitize: Vec::new(),
            include: Vec::new(),
            search: Vec::new(),
            compile: true,
            timeout: Duration::from_secs(120),
        }
    }
}

/// Which command lines compile sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// Optimised (`-O2`), with the compiler's own string ABI.
    #[default]
    Default,
    /// Those that MindSpore documents: not optimised on the CPU, fast mathematics on GPUs, the string ABI of before C++11.
    MindSpore,
}

/// A check that the compiler builds into a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sanitizer {
    /// AddressSanitizer. Its run-time library must be loaded before all others.
    Address,
    /// UndefinedBehaviorSanitizer.
    Undefined,
}

/// The language of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.c`
    C,
    /// `.cc`, `.cpp`, `.cxx`
    Cpp,
    /// `.cu`
    Cuda,
}

impl Language {
    /// The language that a file's suffix names; libraries have none.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "c" => Some(Language::C),
            "cc" | "cpp" | "cxx" => Some(Language::Cpp),
            "cu" => Some(Language::Cuda),
            _ => None,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cpp => "cc",
            Language::Cuda => "cu",
        }
    }
}

/// Where a library's kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// On the host alone.
    Cpu,
    /// The library holds code for NVIDIA GPUs.
    Cuda,
}

/// A library ready to be opened: a private copy whose bytes are the ones that were checked.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// The copy. Other content has another path, so an older one may stay open.
    pub file: PathBuf,
    /// The resolved path of what the user named.
    pub origin: PathBuf,
    /// What the copy was made from, as hexadecimal digits: equal keys are equal libraries.
    pub key: String,
    /// Where its kernels run.
    pub target: Target,
    /// The files that it was made from: the source and what it includes, or the library and those copied with it.
    pub sources: Vec<Dependency>,
}

impl Artifact {
    /// Whether a file that it was made from has other content now, or is gone.
    pub fn is_stale(&self) -> bool {
        self.sources.iter().any(Dependency::is_changed)
    }
}

/// Finds or makes the library of a source file or library file, as the environment says ([`Settings::from_env`]).
///
/// # Errors
/// [`Error::CustomOp`]: the file, or one that it includes or needs, is missing or not allowed, or a flag is not; it does not compile; there is no
/// compiler, or none may run, or it did not end in time; the cache's folder is not private, or cannot be written to. [`Error::Value`] for a setting that
/// is not understood, and a cache that can be no folder.
///
/// ```no_run
/// use opforge_custom::source::{Options, locate};
///
/// let artifact = locate("kernel.cc".as_ref(), &Options::default())?;
/// println!("{} is made from {} files", artifact.file.display(), artifact.sources.len());
/// # Ok::<(), opforge_core::Error>(())
/// ```
pub fn locate(path: &Path, options: &Options) -> Result<Artifact> {
    locate_with(path, options, &Settings::from_env()?)
}

/// As [`locate`], with settings given instead of the environment's.
///
/// # Errors
/// As [`locate`].
pub fn locate_with(path: &Path, options: &Options, settings: &Settings) -> Result<Artifact> {
    let opened = allow::open(path, settings)?;
    let job = Job { options, settings, cache: Cache::open(options, settings)? };
    let located = match Language::of(path) {
        Some(language) => compile::locate(opened, language, &job),
        None => prebuilt::locate(opened, &job),
    };
    located.map_err(|error| job.cache.blame(error))
}

/// What one call of [`locate`] works with.
struct Job<'a> {
    options: &'a Options,
    settings: &'a Settings,
    cache: Cache,
}

/// An error about a file that a user named.
fn fault(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::custom("", path.display(), "", message)
}

/// The libraries that a library needs, by file name.
pub(crate) fn needed(library: &Path) -> Vec<String> {
    std::fs::read(library).map(|bytes| dynamic::Dynamic::of(&bytes).needed).unwrap_or_default()
}
