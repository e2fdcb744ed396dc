//! Which of the compiler's flags are accepted where there is an allow-list: those that name no further file and no further program.
//!
//! Folders of headers may be anywhere, since the headers that were included are held to the list afterwards; so may `-rpath`, since the libraries that are
//! needed are.

use std::path::{Path, PathBuf};

use opforge_core::{Error, Result};

use super::allow::{self, allowed};
use super::{Language, Options, Settings, dependencies, fault};

/// Variables that make compilers read further files, call further programs or write further files. Compilers do not see them where there is an
/// allow-list; those that name folders of headers they do, as the headers are checked.
pub(super) const SILENT: [&str; 11] = [
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "GCC_SPECS",
    "LD_RUN_PATH",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    "CCC_OVERRIDE_OPTIONS",
    "CCC_ADD_ARGS",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
];

const ACCEPTED: &str = "-O*, -D*, -U*, -std=*, -W* but for -Wa and -Wp and most of -Wl, -m*, -g*, the usual ones of -f*, -I* and its like, -L* with an \
                        allowed folder, -l*, -pthread, -static-libgcc, and for nvcc -arch, -gencode, -Xcompiler and those of its mathematics";

/// Flags that stand for themselves.
const PLAIN: [&str; 17] = [
    "-ansi",
    "-pedantic",
    "-pedantic-errors",
    "-pipe",
    "-pthread",
    "-rdynamic",
    "-s",
    "-shared",
    "-static-libgcc",
    "-static-libstdc++",
    "-stdlib=libc++",
    "-stdlib=libstdc++",
    "-undef",
    "-v",
    "-w",
    "-G",
    "-lineinfo",
];

/// What may follow `-f`, and `-fno-`.
const FEATURES: &str = "access-control aligned-new align-functions align-loops allow-store-data-races associative-math \
    asynchronous-unwind-tables builtin char8_t check-new coroutines common concepts cx-fortran-rules cx-limited-range data-sections \
    delete-null-pointer-checks diagnostics-show-option elide-constructors exceptions expensive-optimizations fast-math finite-math-only \
    float-store function-sections gcse gnu-unique gnu-keywords if-conversion implicit-templates inline inline-functions ipa-cp ipa-pta \
    ipa-ra ivopts lax-vector-conversions lifetime-dse lto math-errno merge-constants modulo-sched ms-extensions nonansi-builtins \
    omit-frame-pointer openacc openmp openmp-simd optimize-sibling-calls pack-struct peel-loops permissive pic PIC plt \
    prefetch-loop-arrays reciprocal-math rename-registers rounding-math rtti sanitize-address-use-after-scope schedule-insns \
    schedule-insns2 semantic-interposition short-enums signaling-nans signed-char signed-zeros slp-vectorize split-loops \
    stack-clash-protection stack-protector stack-protector-all stack-protector-strong strict-aliasing strict-enums strict-overflow \
    strict-vtable-pointers threadsafe-statics trapping-math trapv tree-loop-vectorize tree-slp-vectorize tree-vectorize \
    unroll-all-loops unroll-loops unsafe-math-optimizations unsigned-char unswitch-loops unwind-tables variable-expansion-in-unroller \
    vectorize verbose-asm visibility-inlines-hidden visibility-ms-compat web wrapv";

/// What may follow `-f`, with a value.
const SETTINGS: &str = "abi-version cf-protection constexpr-depth constexpr-loop-limit constexpr-ops-limit constexpr-steps diagnostics-color \
    excess-precision fp-contract fp-model inline-limit lto max-errors message-length no-sanitize no-sanitize-recover openmp \
    openmp-version sanitize sanitize-recover simd-cost-model stack-limit-register template-backtrace-limit template-depth \
    tree-parallelize-loops vect-cost-model visibility zero-call-used-regs";

/// What may follow `-Wl,`; `-rpath` besides, with a folder, and `-z` with one of its words.
const LINKER: &str = "-O0 -O1 -O2 -s -S --strip-all --strip-debug --as-needed --no-as-needed --gc-sections --no-undefined -Bsymbolic \
    -Bsymbolic-functions --build-id --eh-frame-hdr --enable-new-dtags --disable-new-dtags --hash-style=gnu --hash-style=both \
    --hash-style=sysv --allow-shlib-undefined --no-allow-shlib-undefined --exclude-libs=ALL --sort-common";
const LINKER_Z: &str = "relro norelro now lazy defs nodelete noexecstack";

/// What nvcc takes besides.
const CUDA: &str = "--use_fast_math -use_fast_math --expt-relaxed-constexpr -expt-relaxed-constexpr --expt-extended-lambda -expt-extended-lambda \
    --extended-lambda -extended-lambda --generate-line-info --device-debug -Xptxas=-v -res-usage --resource-usage -lcudart";
const CUDA_VALUES: &str = "-arch -code -gencode --gpu-architecture --gpu-code --generate-code -maxrregcount --maxrregcount -ftz --ftz \
    -fmad --fmad -prec-div --prec-div -prec-sqrt --prec-sqrt -std --std -default-stream --default-stream -t --threads -Werror -diag-suppress \
    --diag-suppress";

/// Holds flags to the list, if there is an allow-list.
///
/// # Errors
/// For a flag that is not on the list, and a folder or library that the allow-list does not have.
pub(super) fn check(source: &Path, language: Language, options: &Options, settings: &Settings) -> Result<()> {
    if settings.allow.is_empty() {
        return Ok(());
    }
    let system = dependencies::system(&[]);
    let mut check = Check { source, settings, system, folders: Vec::new(), libraries: Vec::new() };
    let mut words = options.flags.iter().map(String::as_str);
    while let Some(flag) = words.next() {
        check.flag(flag, &mut words, language)?;
    }
    check.check_libraries()
}

struct Check<'a> {
    source: &'a Path,
    settings: &'a Settings,
    system: Vec<PathBuf>,
    /// Of `-L`.
    folders: Vec<PathBuf>,
    /// Of `-l`.
    libraries: Vec<String>,
}

impl Check<'_> {
    fn refusal(&self, flag: &str, reason: impl std::fmt::Display) -> Error {
        let lists: Vec<&str> = self.settings.allow.iter().map(|(variable, _)| *variable).collect();
        fault(self.source, format!("the flag {flag:?} is not accepted while {} is set: {reason}", lists.join(" and ")))
    }

    fn flag<'f>(&mut self, flag: &str, rest: &mut impl Iterator<Item = &'f str>, language: Language) -> Result<()> {
        for option in ["-isystem", "-iquote", "-idirafter", "-D", "-U", "-I", "-L", "-l"] {
            // To nvcc, and to the compiler for -lineinfo, this is no library.
            let Some(joined) = flag.strip_prefix(option).filter(|_| flag != "-lineinfo") else { continue };
            let value = if joined.is_empty() { rest.next() } else { Some(joined) };
            let value = value.filter(|value| !joined.is_empty() || !value.starts_with('@'));
            let missing = || self.refusal(flag, "what follows it is missing, or a file of further flags");
            let value = value.ok_or_else(missing)?;
            return match option {
                "-L" => self.folder(flag, value),
                "-l" => self.library(flag, value),
                _ => Ok(()),
            };
        }
        if language == Language::Cuda && self.cuda(flag, rest)? || is_harmless(flag) {
            return Ok(());
        }
        Err(self.refusal(flag, format!("accepted are {ACCEPTED}")))
    }

    /// Whether a flag is one of nvcc's own.
    fn cuda<'f>(&mut self, flag: &str, rest: &mut impl Iterator<Item = &'f str>) -> Result<bool> {
        let (name, joined) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        if ["-Xcompiler", "--compiler-options"].contains(&name) {
            let value = joined.or_else(|| rest.next()).unwrap_or_default();
            value.split(',').try_for_each(|host| match is_harmless(host) {
                true => Ok(()),
                false => Err(self.refusal(&format!("{name} {host}"), format!("accepted are {ACCEPTED}"))),
            })?;
            return Ok(true);
        }
        if has(CUDA_VALUES, name) {
            let value = joined.or_else(|| rest.next()).unwrap_or_default();
            let is_word = |c: char| c.is_ascii_alphanumeric() || "_=,[]-+".contains(c);
            return Ok(!value.is_empty() && value.chars().all(is_word));
        }
        Ok(has(CUDA, flag))
    }

    /// A folder of libraries.
    fn folder(&mut self, flag: &str, folder: &str) -> Result<()> {
        let resolved = Path::new(folder).canonicalize().map_err(|error| self.refusal(flag, error))?;
        allowed(&resolved, &self.system, self.settings).map_err(|reason| self.refusal(flag, reason))?;
        self.folders.push(resolved);
        Ok(())
    }

    fn library(&mut self, flag: &str, name: &str) -> Result<()> {
        if name.contains('/') || name.starts_with('@') {
            return Err(self.refusal(flag, "accepted are names of libraries without folders"));
        }
        self.libraries.push(name.to_owned());
        Ok(())
    }

    /// A link in an allowed folder may lead out of it, and a text in the place of a library may name any other.
    fn check_libraries(&self) -> Result<()> {
        let files = self.libraries.iter().flat_map(|name| match name.strip_prefix(':') {
            Some(file) => vec![file.to_owned()],
            None => vec![format!("lib{name}.so"), format!("lib{name}.a"), format!("lib{name}.dylib")],
        });
        let files: Vec<String> = files.collect();
        let candidates = self.folders.iter().flat_map(|folder| files.iter().map(move |file| folder.join(file)));
        for path in candidates.filter(|path| path.exists()) {
            let flag = format!("-l: {}", path.display());
            let found = allow::resolved(&path).map_err(|error| self.refusal(&flag, error))?;
            if self.system.iter().any(|folder| found.starts_with(folder)) {
                continue;
            }
            allowed(&found, &[], self.settings).map_err(|reason| self.refusal(&flag, reason))?;
            let bytes = std::fs::read(&found).map_err(|error| self.refusal(&flag, error))?;
            if !bytes.starts_with(b"\x7fELF") && !bytes.starts_with(b"!<arch>\n") {
                let reason = "it is neither an ELF library nor an archive (thin ones refer to files elsewhere)";
                return Err(self.refusal(&flag, reason));
            }
        }
        Ok(())
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Letters, digits and signs of which no path is made.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.,:".contains(c))
}

/// Whether a flag of a C or C++ compiler names no further file or program.
fn is_harmless(flag: &str) -> bool {
    if let Some(linked) = flag.strip_prefix("-Wl,") {
        return is_harmless_to_link(linked);
    }
    if let Some(feature) = flag.strip_prefix("-f") {
        let is_setting = |(name, value)| has(SETTINGS, name) && is_word(value);
        let name = feature.strip_prefix("no-").unwrap_or(feature);
        return has(FEATURES, name) || feature.split_once('=').is_some_and(is_setting);
    }
    let rest_is = |start: &str, is: &dyn Fn(&str) -> bool| flag.strip_prefix(start).is_some_and(is);
    let (warning, machine) = flag.split_once('=').unwrap_or((flag, "x"));
    let is_letters = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-+._".contains(c));
    PLAIN.contains(&flag)
        || rest_is("-O", &|level| level.is_empty() || ["0", "1", "2", "3", "s", "g", "z", "fast"].contains(&level))
        || rest_is("-std=", &is_word)
        || rest_is("-g", &|kind| kind.is_empty() || kind == "z" || is_debug(kind))
        || warning.starts_with("-W") && !flag.contains(',') && is_letters(&warning[2..]) && is_word(machine)
        || warning.starts_with("-m")
            && flag.len() > 2
            && !warning.starts_with("-mllvm")
            && is_letters(&warning[2..])
            && is_word(machine)
}

/// What follows `-g` where it is no other option.
fn is_debug(kind: &str) -> bool {
    const KINDS: &str = "0 1 2 3 gdb gdb0 gdb1 gdb2 gdb3 dwarf dwarf-2 dwarf-3 dwarf-4 dwarf-5 column-info no-column-info line-tables-only";
    has(KINDS, kind)
}

fn is_harmless_to_link(words: &str) -> bool {
    let mut words = words.split(',');
    while let Some(word) = words.next() {
        let is_fine = match word {
            "-rpath" | "--rpath" | "-R" => words.next().is_some(),
            "-z" => words.next().is_some_and(|word| has(LINKER_Z, word)),
            _ => word.starts_with("-rpath=") || word.starts_with("--rpath=") || has(LINKER, word),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_files_or_programs_is_told_from_what_does_not() {
        let harmless = "-O3 -Ofast -march=native -mavx512f -mtune=znver4 -ffast-math -fno-exceptions -fopenmp -fvisibility=hidden -std=c++20 \
            -Wall -Wno-unused-parameter -Wformat=2 -g -g3 -ggdb -gdwarf-4 -pthread -fsanitize=address,undefined -flto=auto -Wl,-O1,-z,now \
            -Wl,-rpath,$ORIGIN/lib -w -ffp-contract=fast -m64";
        for flag in harmless.split_ascii_whitespace() {
            assert!(is_harmless(flag), "{flag}");
        }
        let harmful = "evil.o @evil -include -imacros -wrapper -specs=evil -fplugin=evil.so -fplugin-arg-a-b=c -B/evil -Bevil -x -xassembler --sysroot=/ \
            -Xlinker -Xassembler -Xpreprocessor -Xclang -T -Tevil -Wl,-T,evil -Wl,--script=evil -Wl,@evil -Wl,evil.o -Wl,-z,evil -Wl,--dynamic-linker,evil \
            -Wp,-include,evil -Wa,-Ievil -fuse-ld=evil -fmodule-mapper=|evil -fprofile-use=evil -fprofile-use -fdump-tree-all \
            -fsanitize-ignorelist=/evil -o -oevil -c -E -S -M -MM -MF -MD --config=evil -mllvm -load -iprefix -isysroot -isystem-after -nostdlib \
            -aux-info -dumpdir -save-temps -gsplit-dwarf -fauto-profile=evil -no-canonical-prefixes -### --param=evil/evil -mevil=/evil \
            -Wevil=/evil -std=/evil -fvisibility=/evil -l -L -ccbin --options-file -optf --compiler-bindir=/evil -keep-dir";
        for flag in harmful.split_ascii_whitespace() {
            assert!(!is_harmless(flag), "{flag}");
        }
    }

    #[test]
    fn flags_of_nvcc_are_held_to_their_list() {
        let settings = Settings { allow: vec![("OPFORGE_CUSTOM_ALLOW", "/nowhere".into())], ..Settings::default() };
        let judged = |flags: &[&str], language| {
            let options = Options { flags: flags.iter().map(ToString::to_string).collect(), ..Options::default() };
            check(Path::new("k.cu"), language, &options, &settings).map_err(|error| error.to_string())
        };
        let fine = "-arch=sm_90 -gencode arch=compute_80,code=[compute_80,sm_80] --use_fast_math -Xcompiler -O3,-Wall -Xcompiler=-g -lineinfo -DX \
            -maxrregcount=64 -std=c++17 --expt-relaxed-constexpr -lcublas -t 2 -O3";
        let fine: Vec<&str> = fine.split_ascii_whitespace().collect();
        assert_eq!(judged(&fine, Language::Cuda), Ok(()));
        assert!(judged(&["-arch=sm_90"], Language::Cpp).is_err());
        for flags in [
            &["-ccbin", "/evil"][..],
            &["-Xcompiler", "-fplugin=evil"],
            &["-Xcompiler=-O2,evil.o"],
            &["--options-file", "evil"],
            &["-Xlinker", "evil.o"],
            &["-arch", "../evil"],
            &["-gencode"],
            &["evil.o"],
        ] {
            let text = judged(flags, Language::Cuda).unwrap_err();
            assert!(text.contains("OPFORGE_CUSTOM_ALLOW is set") && text.contains("accepted are -O*"), "{text}");
        }
    }
}
