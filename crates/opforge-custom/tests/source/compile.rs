use std::path::Path;
use std::time::Duration;

use opforge_custom::source::{Flavour, Language, Sanitizer, Target, include_dir_with, inline_with};

use crate::bench::{Bench, call, returning, value};

#[test]
fn sources_of_each_language_compile() {
    let bench = Bench::new();
    for (number, name) in ["a.c", "b.cc", "c.cpp", "d.cxx"].into_iter().enumerate() {
        let artifact = bench.locate(&bench.write(name, &returning(number))).unwrap();
        assert_eq!(value(&artifact), number as i32, "{name}");
        assert_eq!(
            (artifact.target, artifact.origin.as_path()),
            (Target::Cpu, bench.path(name).canonicalize().unwrap().as_path())
        );
        assert!(artifact.file.starts_with(bench.path("cache").canonicalize().unwrap()) && !artifact.is_stale());
    }
}

#[test]
fn opforges_headers_are_found_without_a_copy() {
    let bench = Bench::new();
    let text =
        "#include <custom_aot_extra.h>\n#include \"opforge/kernel.h\"\n#include \"custom_aot_extra_dual_abi.h\"\n";
    let source = bench.write("k.cc", &(text.to_owned() + &returning("sizeof(AotExtra)")));
    assert_eq!(bench.value(&source), 40);
    let folder = include_dir_with(&bench.options, &bench.settings).unwrap();
    assert!(folder.join("custom_aot_extra.h").is_file() && folder.join("opforge/kernel.h").is_file());
}

#[test]
fn headers_beside_the_source_and_in_given_folders_are_found() {
    let mut bench = Bench::new();
    bench.write("kernels/beside.h", "#define BESIDE 1\n");
    bench.write("common/parent.h", "#define PARENT 2\n");
    bench.write("more folders/given.h", "#define GIVEN 4\n");
    bench.options.include.push(bench.path("more folders"));
    bench.options.flags.push("-DFLAG=8".to_owned());
    let text = "#include \"beside.h\"\n#include \"../common/parent.h\"\n#include <given.h>\n";
    let source = bench.write("kernels/k.cc", &(text.to_owned() + &returning("BESIDE + PARENT + GIVEN + FLAG")));
    let artifact = bench.locate(&source).unwrap();
    assert_eq!(value(&artifact), 15);
    let watched = |name: &str| artifact.sources.iter().any(|dependency| dependency.path.ends_with(name));
    assert!(watched("kernels/k.cc") && watched("beside.h") && watched("parent.h") && watched("given.h"));
}

#[test]
fn sources_see_their_own_path_and_lines() {
    let bench = Bench::new();
    let body = "#include <cstring>\n#include <cstdlib>\n";
    let source = bench.write(
        "odd \"name\"/k.cc",
        &(format!("\u{feff}{body}")
            + &returning("std::strcmp(__FILE__, std::getenv(\"KERNEL\")) == 0 ? __LINE__ : -1")),
    );
    // SAFETY: no other test reads or sets this variable, and Rust's own access to the environment is locked.
    unsafe { std::env::set_var("KERNEL", source.canonicalize().unwrap()) };
    assert_eq!(bench.value(&source), 6);
}

#[test]
fn errors_show_source_lines_and_the_command() {
    let bench = Bench::new();
    let source = bench.write("broken.cc", &(returning(1) + "int twice(int x) { return 2 * y; }\n"));
    let text = bench.refusal(&source);
    let place = format!("{}:5:", source.canonicalize().unwrap().display());
    for part in
        [place.as_str(), "return 2 * y;", "^", "does not compile", "\ncommand: ", "-O2", "-std=c++17", "-o broken.so"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}') && text.len() < 10_000, "{text}");

    let missing = bench.write("missing.cc", "#include \"nowhere.h\"\n");
    assert!(bench.refusal(&missing).contains("nowhere.h"));
}

#[test]
fn the_documented_command_lines_are_available() {
    let mut bench = Bench::new();
    let old_strings =
        "#include <string>\n".to_owned() + &returning("sizeof(std::string) + 100 * _GLIBCXX_USE_CXX11_ABI");
    let source = bench.write("k.cc", &old_strings);
    if !cfg!(target_os = "linux") || bench.value(&source) != 132 {
        return;
    }
    bench.options.flavour = Flavour::MindSpore;
    assert_eq!(bench.value(&source), 8);
    bench.options.flavour = Flavour::Default;
    bench.settings.flavour = Flavour::MindSpore;
    let broken = bench.write("broken.cc", "x");
    assert!(bench.refusal(&broken).contains(" -std=c++17 --shared -D_GLIBCXX_USE_CXX11_ABI=0 -fPIC"));
}

#[test]
fn sanitizers_are_built_in() {
    let mut bench = Bench::new();
    let source = bench.write("k.cc", &("int twice(int x) { return 2 * x; }\n".to_owned() + &returning("twice(1)")));
    bench.options.sanitize = vec![Sanitizer::Address, Sanitizer::Undefined];
    let library = std::fs::read(bench.locate(&source).unwrap().file).unwrap();
    let calls = |name: &[u8]| library.windows(name.len()).any(|window| window == name);
    assert!(calls(b"__asan_init") && calls(b"__ubsan_handle_mul_overflow_abort"));
}

#[test]
fn texts_compile_as_files_do() {
    let bench = Bench::new();
    let file = |text: &str| inline_with("k", Language::Cpp, text, &bench.options, &bench.settings).unwrap();
    let (one, two) = (file(&returning(1)), file(&returning(2)));
    assert_eq!((bench.value(&one), bench.value(&two)), (1, 2));
    assert_eq!(file(&returning(1)), one);
    for name in ["", "a/b", "..", "1a"] {
        let error = inline_with(name, Language::C, "", &bench.options, &bench.settings).unwrap_err();
        assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
    }
}

#[test]
fn missing_compilers_are_named() {
    let mut bench = Bench::new();
    bench.settings.path = bench.path("nothing").into();
    (bench.settings.cc, bench.settings.cxx) = (None, None);
    let text = bench.refusal(&bench.write("k.c", ""));
    assert!(text.contains("CC is not set") && text.contains("cc, gcc, clang") && text.contains("/nothing"), "{text}");
    let text = bench.refusal(&bench.write("k.cu", ""));
    assert!(
        text.contains("no nvcc in PATH") && text.contains("CUDA_HOME") && text.contains("nvidia-cuda-nvcc"),
        "{text}"
    );
    for named in ["/no/such/compiler -v", "no-such-compiler", "'unfinished"] {
        bench.settings.cxx = Some(named.into());
        let text = bench.refusal(&bench.write("k.cc", ""));
        assert!(text.contains(&format!("CXX names no program that is there: {named}")), "{text}");
    }
}

#[test]
fn compiling_can_be_switched_off() {
    let mut bench = Bench::with_compiler("");
    let (cached, fresh) = (bench.write("cached.cc", &returning(3)), bench.write("fresh.cc", &returning(4)));
    assert_eq!(bench.value(&cached), 3);
    let runs = bench.runs();
    bench.settings.forbid_compiling = true;
    assert_eq!(bench.value(&cached), 3);
    let text = bench.refusal(&fresh);
    assert!(text.contains("OPFORGE_CUSTOM_COMPILE=0") && text.contains("-o fresh.so"), "{text}");
    bench.settings.forbid_compiling = false;
    bench.options.compile = false;
    assert!(bench.refusal(&fresh).contains("switched off"));
    assert_eq!(bench.runs(), runs);
}

#[test]
fn slow_compilers_are_ended_with_their_children() {
    let mut bench = Bench::with_compiler("sleep 1000 & echo $! > \"$bench/child\"; wait");
    let source = bench.write("k.cc", &returning(1));
    bench.options.timeout = Duration::from_millis(100);
    // On a slow machine the child may not even have been started.
    while !bench.path("child").exists() {
        let text = bench.refusal(&source);
        assert!(text.contains("ran for more than") && text.contains("\ncommand: "), "{text}");
        bench.options.timeout *= 2;
    }
    let child = std::fs::read_to_string(bench.path("child")).unwrap();
    let stat = Path::new("/proc").join(child.trim()).join("stat");
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn crashes_of_compilers_are_errors() {
    let bench = Bench::with_compiler("echo last words >&2; kill -SEGV $$");
    let text = bench.refusal(&bench.write("k.cc", ""));
    assert!(text.contains("crashed (signal 11)") && text.contains("last words"), "{text}");
}

#[test]
fn statics_are_not_shared_between_versions() {
    let bench = Bench::new();
    let text =
        |start: i32| format!("inline int &count() {{ static int n = {start}; return n; }}\n") + &returning("++count()");
    let source = bench.write("k.cc", &text(10));
    let first = bench.locate(&source).unwrap();
    // SAFETY: the library has no initialisers.
    let _open = unsafe { libloading::Library::new(&first.file) }.unwrap();
    assert_eq!(value(&first), 11);
    bench.write("k.cc", &text(20));
    assert_eq!(call(&bench.locate(&source).unwrap(), "Value"), 21);
}

/// A compiler that ends with success and writes nothing, as `true` does.
#[test]
fn compilers_that_write_nothing_are_named() {
    let mut bench = Bench::new();
    let source = bench.write("k.cc", &returning(1));
    bench.settings.cxx = Some("true".into());
    let text = bench.refusal(&source);
    for part in ["true ended with success, but did not write the library, ", "/library", "\ncommand: ", "k.cc"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for (script, what) in [
        ("while [ \"$1\" != -o ]; do shift; done; : > \"$2\"", "did not write the library"),
        ("while [ \"$1\" != -o ]; do shift; done; ln -s /dev/null \"$2\"", "did not write the library"),
        ("while [ \"$1\" != -o ]; do shift; done; echo x > \"$2\"", "did not write the list of the files"),
        (
            "while [ \"$1\" != -o ]; do shift; done; echo x > \"$2\"; while [ \"$1\" != -MF ]; do shift; done; echo 'x: gone.h' > \"$2\"",
            "gone.h, which cannot be read",
        ),
    ] {
        bench.settings.cxx = Some(format!("sh '{}'", bench.write("cxx", script).display()).into());
        let text = bench.refusal(&source);
        assert!(text.contains(what), "{script}: {text}");
    }
}
