//! The command lines that compile sources.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use opforge_core::Result;

use super::entry::Key;
use super::toolchain::Compiler;
use super::{Flavour, Job, Language, Sanitizer, fault, flags, gpu, headers};

/// How one source is compiled; source and output stay open, since keys, runs and messages have their own.
pub(super) struct Recipe<'a> {
    pub job: &'a Job<'a>,
    language: Language,
    flavour: Flavour,
    compiler: Compiler,
    /// Folders of headers, in the order of the search.
    include: Vec<PathBuf>,
    /// Opforge's own, searched last.
    headers: PathBuf,
    /// Which GPUs nvcc compiles for.
    architecture: Vec<OsString>,
}

impl<'a> Recipe<'a> {
    /// For the source at this path.
    pub fn new(source: &Path, language: Language, job: &'a Job<'a>) -> Result<Self> {
        let compiler = Compiler::find(language, job).map_err(|missing| fault(source, missing))?;
        let flavour = match (job.options.flavour, job.settings.flavour) {
            (Flavour::Default, Flavour::Default) => Flavour::Default,
            _ => Flavour::MindSpore,
        };
        let mut include = Vec::from_iter(source.parent().map(Path::to_owned));
        if flavour == Flavour::MindSpore {
            include.push(std::env::current_dir()?);
        }
        for folder in &job.options.include {
            include.push(std::path::absolute(folder)?);
        }
        let headers = headers::place(&job.cache)?;
        const CHOOSE: [&str; 5] = ["-arch", "-gencode", "-code", "--gpu-", "--generate-code"];
        let is_choice = |flag: &String| CHOOSE.iter().any(|choice| flag.starts_with(choice));
        let is_open = language == Language::Cuda && !job.options.flags.iter().any(is_choice);
        let architecture = if is_open { gpu::usual() } else { Vec::new() };
        Ok(Recipe { job, language, flavour, compiler, include, headers, architecture })
    }

    /// All that the result depends on, but for the files.
    pub fn identify(&self, key: &mut Key) -> Result<()> {
        self.compiler.identify(key);
        // The folder of opforge's headers is named by their content.
        let headers = Path::new(self.headers.file_name().unwrap_or_default());
        for argument in self.arguments(Path::new("source"), Path::new("output"), headers) {
            key.part(argument);
        }
        if self.language == Language::Cuda {
            for model in gpu::models() {
                key.part(model);
            }
        }
        for (name, value) in &self.job.settings.implicit {
            key.part(name).part(value);
        }
        // Flags may hold relative paths.
        if !self.job.options.flags.is_empty() {
            key.part(std::env::current_dir()?);
        }
        Ok(())
    }

    /// The command that compiles `source` to `output` and names the included files in `rule`.
    pub fn command(&self, source: &Path, output: &Path, rule: &Path) -> Command {
        let mut command = Command::new(&self.compiler.words[0]);
        command.args(self.arguments(source, output, &self.headers));
        command.args(["-MD".as_ref(), "-MF".as_ref(), rule.as_os_str()]);
        if !self.job.settings.allow.is_empty() {
            flags::SILENT.iter().for_each(|name| _ = command.env_remove(name));
        }
        command
    }

    /// The command that a user would type.
    pub fn text(&self, source: &Path) -> String {
        let output = PathBuf::from(source.file_stem().unwrap_or_default()).with_extension("so");
        let arguments = self.arguments(source, &output, &self.headers);
        let words = self.compiler.words[..1].iter().chain(&arguments);
        words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// The file of the compiler.
    pub fn compiler(&self) -> impl std::fmt::Display {
        self.compiler.words[0].display()
    }

    /// The programs that compile.
    pub fn programs(&self) -> &[PathBuf] {
        &self.compiler.programs
    }

    /// The folder of opforge's own headers.
    pub fn headers(&self) -> &Path {
        &self.headers
    }

    fn arguments(&self, source: &Path, output: &Path, headers: &Path) -> Vec<OsString> {
        let (own, host) = self.flags();
        let mut arguments = self.compiler.words[1..].to_vec();
        arguments.extend(own.iter().map(OsString::from));
        arguments.extend_from_slice(&self.architecture);
        for flag in host {
            arguments.extend((self.language == Language::Cuda).then(|| "-Xcompiler".into()));
            arguments.push(flag.into());
        }
        for folder in self.include.iter().map(PathBuf::as_path).chain([headers]) {
            let mut argument = OsString::from("-I");
            argument.push(folder);
            arguments.push(argument);
        }
        arguments.extend(["-o".into(), output.into(), source.into()]);
        arguments.extend(self.job.options.flags.iter().map(OsString::from));
        arguments
    }

    /// The compiler's flags, and those of the compiler of host code.
    fn flags(&self) -> (&'static [&'static str], Vec<&'static str>) {
        const OLD_STRINGS: &str = "-D_GLIBCXX_USE_CXX11_ABI=0";
        let own: &[&str] = match (self.flavour, self.language) {
            (Flavour::Default, Language::C) => &["-O2", "-shared"],
            (Flavour::Default, Language::Cpp) => &["-O2", "-std=c++17", "-shared"],
            (Flavour::Default, Language::Cuda) => &["-O2", "-std=c++17", "--shared"],
            (Flavour::MindSpore, Language::C) => &["--shared"],
            (Flavour::MindSpore, Language::Cpp) => &["-std=c++17", "--shared", OLD_STRINGS],
            (Flavour::MindSpore, Language::Cuda) => {
                &["--shared", "-O3", "--use_fast_math", "--expt-relaxed-constexpr", OLD_STRINGS]
            }
        };
        let mut host = vec!["-fPIC"];
        // Otherwise statics of inline functions and templates are the first library's in all libraries of a process, older versions of the same
        // included, and none of these can be closed.
        if self.flavour == Flavour::Default && self.language != Language::C && self.compiler.is_gcc() {
            host.push("-fno-gnu-unique");
        }
        for sanitizer in &self.job.options.sanitize {
            host.extend(match sanitizer {
                Sanitizer::Address => ["-fsanitize=address", "-g"].as_slice(),
                Sanitizer::Undefined => &["-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-g"],
            });
        }
        (own, host)
    }

    /// Has nvcc compile for the GPUs that are present, unless flags name others.
    pub fn find_gpus(&mut self, stage: &Path) -> Result<()> {
        if !self.architecture.is_empty() {
            let (nvcc, timeout) = (&self.compiler.words[0], self.job.options.timeout);
            self.architecture = gpu::arguments(nvcc, &self.job.settings.path, stage, timeout)?;
        }
        Ok(())
    }

    /// Whether compilers may be run.
    pub fn may_run(&self) -> bool {
        self.job.options.compile && !self.job.settings.forbid_compiling
    }
}

/// A word as shells read it, in quotes only if it needs them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+=_./:,@%".contains(c);
    match shlex::try_quote(word) {
        Ok(quoted) if !word.chars().all(is_plain) => quoted.into_owned(),
        _ => word.to_owned(),
    }
}
