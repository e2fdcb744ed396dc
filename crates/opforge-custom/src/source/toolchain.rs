//! Finding compilers.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::allow::{allowed, listed};
use super::dependencies::system;
use super::entry::Key;
use super::{Job, Language};

/// A compiler.
pub(super) struct Compiler {
    /// How it is called: its path, then arguments that always come first.
    pub words: Vec<OsString>,
    /// The programs that decide what it does: itself, and those that it is told to call.
    pub programs: Vec<PathBuf>,
}

impl Compiler {
    /// The compiler of a language, or a text that says what was looked for and where.
    pub fn find(language: Language, job: &Job<'_>) -> Result<Self, String> {
        let (settings, path) = (job.settings, &job.settings.path);
        match language {
            Language::C => named("C", "CC", settings.cc.as_deref(), &["cc", "gcc", "clang"], path),
            Language::Cpp => named("C++", "CXX", settings.cxx.as_deref(), &["c++", "g++", "clang++"], path),
            Language::Cuda => {
                let nvcc = nvcc(job)?;
                let host = Compiler::find(Language::Cpp, job)?.programs.pop().unwrap_or_default();
                let words = vec![nvcc.clone().into(), "-ccbin".into(), host.clone().into()];
                Ok(Compiler { words, programs: vec![nvcc, host] })
            }
        }
    }

    /// What tells it from other compilers, and from itself after an update.
    pub fn identify(&self, key: &mut Key) {
        for word in &self.words {
            key.part(word);
        }
        for program in &self.programs {
            let (size, seconds, nanoseconds) = fs::metadata(program)
                .map_or_else(|_| Default::default(), |file| (file.size(), file.mtime(), file.mtime_nsec()));
            key.part(program).part(format!("{size} {seconds}.{nanoseconds}"));
        }
    }

    /// Whether host code is compiled by GCC, as far as its file's name tells.
    pub fn is_gcc(&self) -> bool {
        let file = self.programs.last().and_then(|program| program.canonicalize().ok()).unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        (name.contains("gcc") || name.contains("g++")) && !name.contains("clang")
    }
}

/// The compiler that a variable names, or else the first of the usual ones.
fn named(
    language: &str,
    variable: &str,
    value: Option<&OsStr>,
    usual: &[&str],
    path: &OsStr,
) -> Result<Compiler, String> {
    let folders = || format!("PATH is {}", path.display());
    if let Some(value) = value {
        let missing = || format!("{variable} names no program that is there: {}; {}", value.display(), folders());
        let words = value.to_str().and_then(shlex::split).ok_or_else(missing)?;
        // Launchers as `ccache g++` name the program that they call.
        let programs: Vec<PathBuf> = words.iter().filter_map(|word| program(word, path)).collect();
        let first = words.first().and_then(|word| program(word, path)).ok_or_else(missing)?;
        let arguments = words.into_iter().skip(1).map(OsString::from);
        return Ok(Compiler { words: std::iter::once(first.into()).chain(arguments).collect(), programs });
    }
    match usual.iter().find_map(|name| program(name, path)) {
        Some(found) => Ok(Compiler { words: vec![found.clone().into()], programs: vec![found] }),
        None => {
            let usual = usual.join(", ");
            Err(format!("no {language} compiler: {variable} is not set, and there is none of {usual}; {}", folders()))
        }
    }
}

/// An executable file: itself if the name is a path, else the first of this name in the folders of `path`.
pub(super) fn program(name: impl AsRef<Path>, path: &OsStr) -> Option<PathBuf> {
    let name = name.as_ref();
    let is_executable = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return std::path::absolute(name).ok().filter(is_executable);
    }
    env::split_paths(path)
        .map(|folder| folder.join(name))
        .filter_map(|file| std::path::absolute(file).ok())
        .find(is_executable)
}

/// nvcc in PATH, in the toolkit that the environment names, or in the Python package nvidia-cuda-nvcc.
fn nvcc(job: &Job<'_>) -> Result<PathBuf, String> {
    let settings = job.settings;
    let toolkits = settings.cuda.iter().map(|toolkit| toolkit.join("bin/nvcc"));
    let packages =
        job.options.search.iter().cloned().chain(settings.python.iter().flat_map(|home| site_packages(home)));
    let packages: Vec<PathBuf> = packages.collect();
    let in_packages =
        packages.iter().flat_map(|folder| children(&folder.join("nvidia"))).map(|child| child.join("bin/nvcc"));
    // Which folders are searched is the program's choice, unlike the environment's.
    let is_allowed = |file: &PathBuf| {
        settings.python.as_ref().is_some_and(|home| file.starts_with(home))
            || file.canonicalize().is_ok_and(|file| allowed(&file, &system(&[]), settings).is_ok())
    };
    let in_packages = in_packages.filter(is_allowed);
    let found = program("nvcc", &settings.path)
        .or_else(|| toolkits.chain(in_packages).find_map(|file| program(file, &settings.path)));
    found.ok_or_else(|| {
        let listed = |folders: &[PathBuf]| match folders {
            [] => "none".to_owned(),
            _ => listed(folders),
        };
        let (path, toolkits, packages) = (settings.path.display(), listed(&settings.cuda), listed(&packages));
        format!(
            "no CUDA compiler: there is no nvcc in PATH ({path}), in the folders of CUDA_HOME and CUDA_PATH ({toolkits}), \
             nor a package nvidia-cuda-nvcc in Python's folders ({packages})"
        )
    })
}

/// Where a Python environment keeps its packages.
fn site_packages(home: &Path) -> Vec<PathBuf> {
    let versions = children(&home.join("lib")).into_iter();
    versions.map(|version| version.join("site-packages")).filter(|folder| folder.is_dir()).collect()
}

/// What a folder holds, in the order of the names; nothing if there is no such folder.
pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    children.sort();
    children
}
