//! Sources become libraries.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use opforge_core::{Error, Result};

use super::allow::Opened;
use super::command::Recipe;
use super::entry::{Entry, Key, Request};
use super::obtain::obtain;
use super::run::run;
use super::stamp::Stamp;
use super::{Artifact, Dependency, Job, Language, Target, dependencies, depfile, fault, flags, report};

/// Longer than a tick of the clock that local file systems take their times from.
const TICK: Duration = Duration::from_millis(10);

/// How often a source is compiled again because its headers changed meanwhile.
const ATTEMPTS: u32 = 4;

pub(super) fn locate(opened: Opened, language: Language, job: &Job<'_>) -> Result<Artifact> {
    let Opened { mut file, given, resolved } = opened;
    let metadata = file.metadata()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    flags::check(&given, language, job.options, job.settings)?;
    let mut recipe = Recipe::new(&given, language, job)?;
    let mut key = Key::new("compile");
    recipe.identify(&mut key)?;
    let request = Request::new(key.part(&given).bytes(&text), &given);
    let system = dependencies::system(recipe.programs());
    let update = |header: &mut Dependency| Ok(header.update()?);
    let make = |stage: &Path| {
        let (library, dependencies) = compile(&mut recipe, &given, &text, stage)?;
        let target = if language == Language::Cuda { Target::Cuda } else { Target::Cpu };
        Ok((library, Entry { target, inner: PathBuf::new(), dependencies }))
    };
    let found = obtain(&job.cache, &request, job.options.timeout, update, make)?;
    dependencies::check_headers(&given, &found.entry.dependencies, &system, job.settings)?;
    dependencies::check_libraries(&given, &found.file, job.settings)?;
    let source = Dependency::known(&given, &metadata, blake3::hash(&text));
    let sources = std::iter::once(source).chain(found.entry.dependencies).collect();
    Ok(Artifact { file: found.file, origin: resolved, key: found.key, target: found.entry.target, sources })
}

/// Compiles the text of the source at `path`; the library, and the headers that it was made from.
fn compile(recipe: &mut Recipe<'_>, path: &Path, text: &[u8], stage: &Path) -> Result<(PathBuf, Vec<Dependency>)> {
    if !recipe.may_run() {
        let reason = "compiling is switched off (OPFORGE_CUSTOM_COMPILE=0, or the option `compile`)";
        return Err(fault(path, format!("{reason}; build it by hand, and name the library: {}", recipe.text(path))));
    }
    let (source, library, rule) =
        (stage.join(path.file_name().unwrap_or_default()), stage.join("library"), stage.join("rule"));
    recipe.find_gpus(stage)?;
    for _ in 0..ATTEMPTS {
        fs::write(&source, with_origin(path, text))?;
        let began = Stamp::of(&source.metadata()?).changed();
        thread::sleep(TICK);
        let outcome = run(recipe.command(&source, &library, &rule), stage, recipe.job.options.timeout)?;
        if let Some(reason) = outcome.failure {
            let output = outcome.output.replace(&*source.to_string_lossy(), &path.to_string_lossy());
            return Err(failure(recipe, path, &reason, &output));
        }
        check_product(recipe, path, &library, "the library", &outcome.output)?;
        check_product(recipe, path, &rule, "the list of the files that it included", &outcome.output)?;
        if let Some(headers) = headers(recipe, path, &rule, stage, began)? {
            // Once the name is there, the content must be, even if the power fails.
            File::open(&library)?.sync_all()?;
            return Ok((library, headers));
        }
    }
    Err(fault(path, "files that it includes keep changing while it is compiled"))
}

/// A compiler that ended with success may have written nothing, as `true` does.
fn check_product(recipe: &Recipe<'_>, path: &Path, product: &Path, what: &str, output: &str) -> Result<()> {
    if fs::symlink_metadata(product).is_ok_and(|file| file.is_file() && file.len() > 0) {
        return Ok(());
    }
    let (compiler, product) = (recipe.compiler(), product.display());
    Err(failure(recipe, path, &format!("{compiler} ended with success, but did not write {what}, {product}"), output))
}

/// The included files, unless one of them changed after compiling began. Opforge's own, whose folder is named by their content, are left out.
fn headers(
    recipe: &Recipe<'_>,
    source: &Path,
    rule: &Path,
    stage: &Path,
    began: SystemTime,
) -> Result<Option<Vec<Dependency>>> {
    let mut headers = Vec::new();
    for path in depfile::prerequisites(&fs::read(rule)?) {
        let path = std::path::absolute(path)?;
        if path.starts_with(stage) || path.starts_with(recipe.headers()) {
            continue;
        }
        let unreadable = |error| fault(source, format!("includes {}, which cannot be read: {error}", path.display()));
        if Stamp::of(&path.metadata().map_err(unreadable)?).changed() > began {
            return Ok(None);
        }
        headers.push(Dependency::record(path.clone()).map_err(unreadable)?);
    }
    Ok(Some(headers))
}

/// The text with a first line that says where it comes from, for diagnostics, debuggers and `__FILE__`.
fn with_origin(path: &Path, text: &[u8]) -> Vec<u8> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let mut line = b"#line 1 \"".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    line.extend_from_slice(b"\"\n");
    line.extend_from_slice(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text));
    line
}

fn failure(recipe: &Recipe<'_>, path: &Path, reason: &str, output: &str) -> Error {
    let diagnostics = report::excerpt(output);
    let separator = if diagnostics.is_empty() { "" } else { "\n" };
    fault(path, format!("{reason}{separator}{diagnostics}\ncommand: {}", recipe.text(path)))
}
