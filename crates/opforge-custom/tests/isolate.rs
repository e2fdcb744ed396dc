//! Isolated operators do what they do in this process, and survive what they would not survive in it.

mod common;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use common::{fails, library, op, vector};
use opforge::{DType, Device, Tensor};
use opforge_custom::{Attribute, CustomOp, DTypeRule, Isolation, ShapeRule};

static MISBEHAVE: LazyLock<PathBuf> = LazyLock::new(|| library("misbehave.cc"));
static ATTRIBUTES: LazyLock<PathBuf> = LazyLock::new(|| library("attributes.cc"));

fn misbehaving(limit: Option<Duration>) -> CustomOp {
    CustomOp::open_isolated(&MISBEHAVE, "Misbehave", limit).unwrap()
}

/// What a misbehaving kernel's call says; the next call must work.
fn fate(how: &str, place: &str) -> String {
    let op = misbehaving(Some(Duration::from_millis(500)));
    let x = vector(&[1.0, 2.0, 3.0, 4.0]);
    let attributes = [("how".to_owned(), Attribute::from(how)), ("where".to_owned(), Attribute::from(place))];
    let called = op.apply_with(&[&x], &attributes).and_then(|y| y[0].to_vec1::<f32>());
    let error = called.expect_err(how).to_string();
    for _ in 0..2 {
        assert_eq!(op.apply(&[&x]).unwrap().to_vec1::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
    assert!(
        error.contains("Misbehave (") && error.contains(&format!("{}:Misbehave): ", MISBEHAVE.display())),
        "{error}"
    );
    error.split_once("Misbehave): ").unwrap().1.split(" (raised").next().unwrap().to_owned()
}

#[test]
fn crashes_are_errors_that_say_what_happened() {
    for (how, message) in [
        ("segfault", "Misbehave crashed with SIGSEGV: wrote to a null pointer, at 0x8"),
        ("abort", "Misbehave crashed with SIGABRT: it aborted"),
        ("fork", "Misbehave crashed with SIGABRT: it aborted"),
        ("exit", "Misbehave ended its process with exit status 3"),
        ("loop", "Misbehave took longer than the limit of 500ms and was stopped"),
        ("stack", "Misbehave crashed with SIGSEGV: overflowed its stack"),
        ("divide", "Misbehave crashed with SIGFPE: divided an integer by zero"),
        ("scribble", "Misbehave left its process unusable: it sent something else than an answer"),
        ("fail", "Misbehave returned error code 42: failed on purpose"),
        ("throw", "Misbehave threw a C++ exception: thrown on purpose"),
        ("throw int", "Misbehave threw a C++ exception: i"),
    ] {
        assert_eq!(fate(how, ""), message);
    }
    assert!(fate("jump", "").starts_with("Misbehave crashed with SIGSEGV"));
    assert!(fate("trap", "").starts_with("Misbehave crashed with SIG"));
    assert!(fate("close", "").starts_with("Misbehave "));
}

/// What an isolated kernel tries to do to the process that started it fails, and so does what would give it back what it gave up.
#[cfg(target_os = "linux")]
#[test]
fn other_processes_are_out_of_reach() {
    let op = misbehaving(None);
    if let Some(gaps) = op.isolation_gaps() {
        eprintln!("skipped: {gaps}");
        return;
    }
    let refused = ["Operation not permitted", "Permission denied"];
    for how in [
        "kill",
        "kill group",
        "kill all",
        "tgkill",
        "tkill",
        "sigqueue",
        "pidfd",
        "ptrace",
        "vm",
        "proc",
        "owner",
        "group",
        "limits",
        "sibling",
        "affinity",
        "from a child",
    ] {
        let message = fate(&format!("attack {how}"), "");
        let reason = message.strip_prefix("Misbehave threw a C++ exception: ").unwrap_or(&message);
        assert!(refused.contains(&reason), "{how}: {message}");
    }
}

/// Systems without seccomp or Landlock run isolated kernels all the same, and say what is missing.
#[cfg(target_os = "linux")]
#[test]
fn what_was_given_up_is_said_where_it_could_not_be() {
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    process
        .args(["--exact", "without_filters"])
        .env("OPFORGE_TEST_NO_FILTERS", "1")
        .stdout(std::process::Stdio::null());
    // SAFETY: between fork and exec, only system calls are made.
    unsafe { std::os::unix::process::CommandExt::pre_exec(&mut process, without_filters_below) };
    assert!(process.status().unwrap().success());
}

/// Has `seccomp` and Landlock's first call fail in this process from now on, as on systems that have neither.
#[cfg(target_os = "linux")]
fn without_filters_below() -> std::io::Result<()> {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_EQUAL, 1, 0, libc::SYS_seccomp as u32),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_landlock_create_ruleset as u32),
        step(RETURN, 0, 0, NO_SUCH_CALL),
        step(RETURN, 0, 0, ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program and its description live until the call returns.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// What the test above runs as a process of its own.
#[test]
fn without_filters() {
    if std::env::var_os("OPFORGE_TEST_NO_FILTERS").is_none() {
        return;
    }
    let op = misbehaving(None);
    let gaps = op.isolation_gaps().unwrap();
    assert!(gaps.contains("no Landlock: Function not implemented"), "{gaps}");
    assert!(gaps.contains("cannot be filtered: Function not implemented"), "{gaps}");
    assert_eq!(op.apply(&[&vector(&[1.0])]).unwrap().to_vec1::<f32>().unwrap(), [1.0]);
}

#[cfg(target_os = "linux")]
#[test]
fn memory_beyond_the_limit_is_an_error_that_names_it() {
    let limits = Isolation { memory: Some(256 << 20), ..Isolation::default() };
    let op = misbehaving(None).isolated_with(&limits).unwrap();
    let x = vector(&[1.0]);
    let call = |how: &str| {
        let attributes = [("how".to_owned(), Attribute::from(how)), ("where".to_owned(), Attribute::from(""))];
        op.apply_with(&[&x], &attributes).and_then(|y| y[0].to_vec1::<f32>())
    };
    for (how, bytes) in [("malloc", 1usize << 31), ("new", 1 << 31), ("leak", 1 << 24), ("calloc", 1 << 31)] {
        let error = call(&format!("take {how}")).unwrap_err().to_string();
        let message = format!("asked for {bytes} bytes beyond its memory limit of 268435456 bytes");
        assert!(error.contains("Misbehave") && error.contains(&message), "{how}: {error}");
        assert_eq!(op.apply(&[&x]).unwrap().to_vec1::<f32>().unwrap(), [1.0]);
    }
    assert_eq!(call("take fall back").unwrap(), [1.0]);
    // What was refused during another call has nothing to do with this one.
    assert!(!call("throw").unwrap_err().to_string().contains("memory limit"));
    let tensors = Tensor::zeros(100_000_000, DType::F32, &Device::Cpu).unwrap();
    assert_eq!(op.apply(&[&tensors]).unwrap().dims(), [100_000_000]);
    for given in [0, 1 << 20] {
        let few = Isolation { memory: Some(given), ..Isolation::default() };
        let error = misbehaving(None).isolated_with(&few).unwrap_err().to_string();
        assert!(error.contains(&format!("memory limit: {given} bytes")) && error.contains("at least"), "{error}");
    }
}

#[test]
fn writes_where_nothing_may_be_written_are_found() {
    for (how, message) in [
        ("past the end", "Misbehave wrote past the end of output 0: at byte 16 of 16"),
        ("before the start", "Misbehave wrote before the start of output 0: at byte -4"),
        ("far past the end", "Misbehave crashed with SIGSEGV: wrote past the end of output 0: at byte 4016 of 16"),
        ("into the input", "Misbehave crashed with SIGSEGV: wrote to input 0, which is read-only, at byte 4 of 16"),
    ] {
        assert_eq!(fate(how, ""), message);
    }
}

#[test]
fn every_function_of_a_library_may_crash() {
    assert!(fate("segfault", "Init").starts_with("MisbehaveInit crashed with SIGSEGV"));
    assert!(fate("fail", "Init").starts_with("MisbehaveInit returned error code 5: failed on purpose"));
    assert!(fate("loop", "Init").starts_with("MisbehaveInit took longer than the limit of 500ms"));
    assert!(fate("abort", "InferShape").starts_with("MisbehaveInferShape crashed with SIGABRT"));
    assert!(fate("throw", "InferShape").starts_with("MisbehaveInferShape threw a C++ exception: thrown on purpose"));
}

#[test]
fn kernel_data_that_cannot_be_destroyed_harms_nobody() {
    let x = vector(&[1.0, 2.0]);
    for how in ["segfault", "throw", "loop"] {
        let op = misbehaving(Some(Duration::from_millis(500)));
        let attributes = [("how".to_owned(), how.into()), ("where".to_owned(), "destructor".into())];
        assert_eq!(op.apply_with(&[&x], &attributes).unwrap()[0].to_vec1::<f32>().unwrap(), [1.0, 2.0]);
    }
}

#[test]
fn libraries_that_crash_when_they_are_opened_are_errors() {
    let library = library("constructor.cc");
    let error = CustomOp::open_isolated(&library, "Harmful", None).unwrap_err().to_string();
    assert!(error.ends_with("opening the library crashed with SIGABRT: it aborted"), "{error}");
}

#[test]
fn what_cannot_be_loaded_says_the_same_as_in_this_process() {
    let says = |function: &str| {
        let here = CustomOp::open(&MISBEHAVE, function).unwrap_err().to_string();
        let there = CustomOp::open_isolated(&MISBEHAVE, function, None).unwrap_err().to_string();
        assert_eq!(here, there);
        here
    };
    assert!(says("Misbehav").contains("did you mean Misbehave"));
    let nowhere = MISBEHAVE.with_file_name("nowhere.so");
    let here = CustomOp::open(&nowhere, "F").unwrap_err().to_string();
    assert_eq!(here, CustomOp::open_isolated(&nowhere, "F", None).unwrap_err().to_string());
    let function = CustomOp::from_fn("f", |x, _| Ok(x.to_vec()));
    assert!(function.isolated(None).unwrap_err().to_string().contains("an operator in a library"));
    let hasty = CustomOp::open_isolated(&MISBEHAVE, "Misbehave", Some(Duration::ZERO));
    assert!(hasty.unwrap_err().to_string().contains("time limit"));
}

/// The same operator here and isolated.
fn both(function: &str) -> [CustomOp; 2] {
    let here = CustomOp::open(&ATTRIBUTES, function).unwrap();
    let isolated = here.clone().isolated(None).unwrap();
    [here, isolated]
}

#[test]
fn attributes_workspaces_data_and_several_outputs_are_the_same() {
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], &Device::Cpu).unwrap();
    let results = both("Reads").map(|op| {
        let attributes: Vec<(String, Attribute)> = vec![
            ("bool".into(), true.into()),
            ("int".into(), (-7i64).into()),
            ("float".into(), 2.5f32.into()),
            ("text".into(), "a text with \u{e9}".into()),
            ("ints".into(), vec![1i64, -2, 3].into()),
            ("floats".into(), vec![0.5f32, 1.5].into()),
            ("int_rows".into(), vec![vec![1i64], vec![], vec![2, 3]].into()),
            ("float_rows".into(), Attribute::FloatRows(vec![])),
        ];
        let outputs = op.outputs(2).apply_with(&[&x], &attributes).unwrap();
        let [sums, all] = &outputs[..] else { panic!("{} outputs", outputs.len()) };
        (sums.to_vec1::<f32>().unwrap(), all.to_vec1::<f32>().unwrap())
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].0, [6.0, 15.0]);
    assert_eq!(results[0].1.len(), 3 + "a text with \u{e9}".len() + 3 + 2 + 3);
    let errors = both("Reads").map(|op| op.outputs(2).apply_all(&[&x]).unwrap_err().to_string());
    assert_eq!(errors[0], errors[1]);
    assert!(errors[0].contains("there is no attribute 'bool'"), "{}", errors[0]);
}

#[test]
fn inference_by_the_form_for_c_is_the_same() {
    for op in both("Lengths") {
        for (shape, lengths) in [(vec![], vec![]), (vec![3], vec![3]), (vec![2, 0, 5], vec![2i64, 0, 5])] {
            let y = op.apply(&[&Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap()]).unwrap();
            assert_eq!(y.to_vec1::<i64>().unwrap(), lengths);
        }
        let inferred = op.infer(&[(vec![-1, 4], DType::F16)], &[]).unwrap();
        assert_eq!(inferred, [(vec![2], DType::I64)]);
        let x = vector(&[1.0]);
        assert!(
            op.apply(&[&x, &x])
                .unwrap_err()
                .to_string()
                .contains("LengthsInfer returned error code 1: takes one tensor")
        );
    }
}

#[test]
fn inputs_are_changed_in_place() {
    for op in both("Increment") {
        let op = op.with_schema("(Tensor(a!) x) -> Tensor").unwrap();
        let op = op.shapes(ShapeRule::Fixed(vec![vec![1]])).dtypes(DTypeRule::Fixed(vec![DType::F32]));
        let x = vector(&[1.0, 2.0, 3.0, 4.0]);
        for _ in 0..2 {
            assert_eq!(op.apply(&[&x.narrow(0, 1, 2).unwrap()]).unwrap().to_vec1::<f32>().unwrap(), [2.0]);
        }
        assert_eq!(x.to_vec1::<f32>().unwrap(), [1.0, 4.0, 5.0, 4.0]);
    }
    for op in both("Double") {
        let op = op.with_schema("(Tensor(a!) x) -> Tensor(a!)").unwrap();
        let x = vector(&[1.0, 2.0, 3.0]);
        let y = op.apply(&[&x]).unwrap();
        assert_eq!(y.to_vec1::<f32>().unwrap(), [2.0, 4.0, 6.0]);
        assert_eq!(x.to_vec1::<f32>().unwrap(), [2.0, 4.0, 6.0]);
    }
}

#[test]
fn failures_read_the_same_as_in_this_process() {
    let x = vector(&[1.0, 2.0]);
    let same = |op: CustomOp| {
        let here = fails(&op, &[&x], &[]);
        let there = fails(&op.isolated(None).unwrap(), &[&x], &[]);
        let reason = |text: &str| text.split(" (raised").next().unwrap_or_default().to_owned();
        assert_eq!(reason(&here), reason(&there));
    };
    let failing = |function: &str| op("failures.cc", function);
    let like = |function: &str| failing(function).shapes(ShapeRule::Like(0));
    same(like("Code"));
    same(like("Wordy"));
    for how in ["exception", "int", "text", "long", "another"] {
        same(like("Throwing").attr("how", how).unwrap());
    }
    same(like("InitThrows").attr("how", "int").unwrap());
    same(failing("ShapeThrows").attr("how", "text").unwrap());
    for bytes in [-1, i64::MIN, 1 << 60] {
        same(like("Greedy").attr("bytes", bytes).unwrap());
    }
    for shape in [vec![2, -5], vec![-2], vec![2, -1], vec![i64::MAX, i64::MAX]] {
        same(failing("Shaped").attr("shape", shape).unwrap());
    }
    let huge = [like("Greedy").attr("bytes", 1i64 << 45), failing("Shaped").attr("shape", vec![1i64 << 50])];
    for op in huge {
        fails(&op.unwrap().isolated(None).unwrap(), &[&x], &["out of memory"]);
    }
}

#[test]
fn several_threads_may_call_at_once() {
    let op = misbehaving(None);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let op = &op;
            scope.spawn(move || {
                for i in 0..50u8 {
                    let values: Vec<f32> = (0..=i % 5).map(|j| f32::from(thread) + f32::from(j)).collect();
                    let x = vector(&values);
                    assert_eq!(op.apply(&[&x]).unwrap().to_vec1::<f32>().unwrap(), values);
                    if i % 20 == 7 {
                        let attributes = [("how".to_owned(), "abort".into()), ("where".to_owned(), "".into())];
                        let crashed = op.apply_with(&[&x], &attributes).and_then(|y| y[0].to_vec1::<f32>());
                        assert!(crashed.unwrap_err().to_string().contains("SIGABRT"));
                    }
                }
            });
        }
    });
}

#[test]
fn large_tensors_go_there_and_back() {
    let x = Tensor::arange(0f32, 25e6, &Device::Cpu).unwrap();
    let y = misbehaving(None).apply(&[&x]).unwrap();
    assert_eq!(y.dims(), [25_000_000]);
    let differences = y.ne(&x).unwrap().to_dtype(DType::I64).unwrap().sum_all().unwrap();
    assert_eq!(differences.to_scalar::<i64>().unwrap(), 0);
}
