//! A folder with sources, a cache of its own, and a compiler that counts its runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use libloading::Library;
use opforge_core::{Error, ErrorKind, Result};
use opforge_custom::source::{Artifact, Options, Settings, locate_with};
use tempfile::TempDir;

pub struct Bench {
    pub folder: TempDir,
    pub options: Options,
    pub settings: Settings,
}

impl Bench {
    /// With the system's compilers.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let system = |name: &str| ["PATH", "CC", "CXX"].contains(&name).then(|| env::var_os(name)).flatten();
        let mut settings = Settings::from(system).unwrap();
        settings.cache = Some(folder.path().join("cache"));
        Bench { folder, options: Options::default(), settings }
    }

    /// With a C++ compiler that runs some lines of shell first, in which `$bench` is the folder; see [`Self::runs`].
    pub fn with_compiler(before: &str) -> Self {
        let mut bench = Bench::new();
        let cxx = bench.settings.cxx.take().unwrap_or("c++".into());
        let (folder, cxx) = (bench.folder.path().display().to_string(), cxx.into_string().unwrap());
        let script = bench
            .write("cxx", &format!("bench='{folder}'\necho run >> '{folder}/runs'\n{before}\nexec {cxx} \"$@\"\n"));
        // Not executed itself, since other threads may start processes while it is being written, which would then hold it open.
        bench.settings.cxx = Some(format!("sh '{}'", script.display()).into());
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn locate(&self, path: &Path) -> Result<Artifact> {
        locate_with(path, &self.options, &self.settings)
    }

    /// The text of the error, which is one of a custom operator.
    #[track_caller]
    pub fn refusal(&self, path: &Path) -> String {
        let error = self.locate(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CustomOp, "{error}");
        let Error::CustomOp(fault) = error.root() else { unreachable!() };
        assert!(fault.library.ends_with(&path.file_name().unwrap().to_string_lossy()[..]), "{error}");
        error.to_string()
    }

    /// How often the compiler ran.
    pub fn runs(&self) -> usize {
        fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count()
    }

    /// What `Value` returns in the library of this source or library file.
    #[track_caller]
    pub fn value(&self, path: &Path) -> i32 {
        value(&self.locate(path).unwrap())
    }
}

/// A source whose function `Value` returns this expression.
pub fn returning(expression: impl std::fmt::Display) -> String {
    format!("#ifdef __cplusplus\nextern \"C\"\n#endif\nint Value(void) {{ return {expression}; }}\n")
}

/// What `Value` returns.
pub fn value(artifact: &Artifact) -> i32 {
    Opened::new(artifact).value()
}

pub fn call(artifact: &Artifact, function: &str) -> i32 {
    Opened::new(artifact).call(function)
}

/// A library that stays open.
pub struct Opened(Library);

impl Opened {
    #[track_caller]
    pub fn new(artifact: &Artifact) -> Self {
        // SAFETY: the libraries of these tests have no initialisers.
        Opened(unsafe { Library::new(&artifact.file) }.unwrap())
    }

    /// What `Value` returns.
    pub fn value(&self) -> i32 {
        self.call("Value")
    }

    fn call(&self, function: &str) -> i32 {
        // SAFETY: these functions take nothing and return an int, and the library is open.
        unsafe { self.0.get::<extern "C" fn() -> i32>(function.as_bytes()).unwrap()() }
    }
}
