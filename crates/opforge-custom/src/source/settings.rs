//! What the environment says, read at one place.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use opforge_core::{Error, Result};

use super::Flavour;

/// What the environment says about where kernels come from and how they are compiled.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `MS_CUSTOM_AOT_WHITE_LIST` and `OPFORGE_CUSTOM_ALLOW`, those that are set: folders, separated as in PATH. A file must be below one of each;
    /// an empty list allows nothing. What it includes, and the libraries that it needs by path, must be below too, or be the system's or the compiler's;
    /// flags are held to a list ([`Options::flags`](super::Options::flags)). `CC`, `CXX`, `PATH` and
    /// the loader's variables (`LD_LIBRARY_PATH`, `LD_PRELOAD`) are trusted, as the lists themselves are.
    pub allow: Vec<(&'static str, OsString)>,
    /// `OPFORGE_CUSTOM_COMPILE=0`: no compiler may be run. What was compiled before is used.
    pub forbid_compiling: bool,
    /// `OPFORGE_CUSTOM_FLAGS`: `mindspore` or `default`.
    pub flavour: Flavour,
    /// `OPFORGE_CUSTOM_CACHE`: the folder of results.
    pub cache: Option<PathBuf>,
    /// The user's folder for caches: `XDG_CACHE_HOME`, or else `~/.cache`. Results are in `opforge/custom` below it, or in a private temporary
    /// folder where that cannot be had.
    pub user_cache: Option<PathBuf>,
    /// `PATH`
    pub path: OsString,
    /// `CC`: a program, and arguments if any.
    pub cc: Option<OsString>,
    /// `CXX`, likewise; nvcc uses the program for host code.
    pub cxx: Option<OsString>,
    /// `CUDA_HOME` and `CUDA_PATH`.
    pub cuda: Vec<PathBuf>,
    /// `VIRTUAL_ENV`: a Python environment, where nvcc may be installed.
    pub python: Option<PathBuf>,
    /// The variables that compilers read by themselves, those that are set.
    pub implicit: Vec<(&'static str, OsString)>,
}

const ALLOW: [&str; 2] = ["MS_CUSTOM_AOT_WHITE_LIST", "OPFORGE_CUSTOM_ALLOW"];

const IMPLICIT: [&str; 9] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "SDKROOT",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
];

impl Settings {
    /// The settings of this process's environment.
    ///
    /// # Errors
    /// [`Error::Value`] for a switch that has another value than those accepted.
    pub fn from_env() -> Result<Self> {
        Self::from(|name| env::var_os(name))
    }

    /// The settings of an environment given as a function from names to values.
    ///
    /// # Errors
    /// As [`Self::from_env`].
    pub fn from(get: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let filled = |name| get(name).filter(|value| !value.is_empty());
        let folder = |name| filled(name).map(PathBuf::from);
        let xdg = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let chosen = |names: &[&'static str]| names.iter().filter_map(|&name| Some((name, get(name)?))).collect();
        let flavours = [("default", Flavour::Default), ("mindspore", Flavour::MindSpore)];
        Ok(Settings {
            allow: chosen(&ALLOW),
            forbid_compiling: choice("OPFORGE_CUSTOM_COMPILE", &get, &[("1", false), ("0", true)])?,
            flavour: choice("OPFORGE_CUSTOM_FLAGS", &get, &flavours)?,
            cache: folder("OPFORGE_CUSTOM_CACHE"),
            user_cache: xdg.or_else(|| Some(folder("HOME")?.join(".cache"))),
            path: get("PATH").unwrap_or_default(),
            cc: filled("CC"),
            cxx: filled("CXX"),
            cuda: ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(folder).collect(),
            python: folder("VIRTUAL_ENV"),
            implicit: chosen(&IMPLICIT),
        })
    }
}

/// A variable that has one of a few values; unset or empty, the first.
fn choice<T: Copy>(
    name: &'static str,
    get: impl Fn(&str) -> Option<OsString>,
    values: &[(&'static str, T)],
) -> Result<T> {
    let text = get(name).unwrap_or_default();
    if text.is_empty() {
        return Ok(values[0].1);
    }
    let found = values.iter().find(|(value, _)| text.eq_ignore_ascii_case(value));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let accepted: Vec<_> = values.iter().map(|(value, _)| *value).collect();
        Error::value("custom operator", name, text.display(), accepted.join(" or "))
    })
}
