//! Kernels that fail, and libraries that cannot be used.

use opforge::Result;
use opforge_custom::{CustomOp, ShapeRule};

use crate::common::{compile, error, fails, library, op, options, vector};

fn failing(function: &str, how: &str) -> CustomOp {
    op("failures.cc", function).shapes(ShapeRule::Like(0)).attr("how", how).unwrap()
}

#[test]
fn numbers_and_texts_that_kernels_return() {
    let x = vector(&[1.0, 2.0]);
    let code = op("failures.cc", "Code").shapes(ShapeRule::Like(0));
    let text = fails(&code, &[&x], &["custom operator Code", ".so:Code)", "Code returned error code -7"]);
    assert!(text.ends_with("-7"), "{text}");
    let wordy = op("failures.cc", "Wordy").shapes(ShapeRule::Like(0)).named("my_operator");
    fails(&wordy, &[&x], &["custom operator my_operator", "error code 5: cannot work with 2 elements"]);
}

#[test]
fn what_is_thrown_becomes_an_error() {
    let x = vector(&[1.0]);
    for function in ["Throwing", "InitThrows"] {
        fails(&failing(function, "exception"), &[&x], &[function, "threw a C++ exception: a runtime error"]);
        fails(&failing(function, "text"), &[&x], &["threw a C++ exception: a thrown text"]);
        // The name of `int` in C++.
        fails(&failing(function, "int"), &[&x], &["threw a C++ exception: i"]);
        let text = fails(&failing(function, "long"), &[&x], &["xxxxxxxxxx"]);
        assert!(text.len() < 1500, "{} bytes", text.len());
    }
    fails(&failing("InitThrows", "int"), &[&x], &["InitThrowsInit threw"]);
    let shape = op("failures.cc", "ShapeThrows").attr("how", "exception").unwrap();
    fails(&shape, &[&x], &["ShapeThrowsInferShape threw a C++ exception: a runtime error"]);
}

#[test]
fn an_operator_works_after_it_failed() -> Result<()> {
    let throwing = op("power.cc", "Power").shapes(ShapeRule::Like(0));
    let throwing =
        throwing.with_schema("(Tensor x, *, int exponent=2, float base=0, str rounding=\"none\") -> Tensor")?;
    fails(&throwing.clone().attr("rounding", "up")?, &[&vector(&[2.0])], &["threw a C++ exception: up"]);
    assert_eq!(throwing.apply(&[&vector(&[2.0])])?.to_vec1::<f32>()?, [4.0]);
    Ok(())
}

#[test]
fn workspaces_of_impossible_sizes() -> Result<()> {
    let greedy = |bytes: i64| op("failures.cc", "Greedy").shapes(ShapeRule::Like(0)).attr("bytes", bytes);
    let x = vector(&[1.0, 2.0]);
    fails(&greedy(-1)?, &[&x], &["GreedyInit asked for -1 bytes as workspace 0"]);
    fails(&greedy(i64::MIN)?, &[&x], &["GreedyInit asked for -9223372036854775808 bytes"]);
    fails(&greedy(1 << 60)?, &[&x], &["GreedyInit asked for 1152921504606846976 bytes"]);
    // What might be, but is not there.
    fails(&greedy(1 << 45)?, &[&x], &["35184372088832"]);
    for bytes in [0, 1, 1 << 20] {
        assert_eq!(greedy(bytes)?.apply(&[&x])?.to_vec1::<f32>()?, [1.0, 2.0]);
    }
    Ok(())
}

#[test]
fn libraries_that_cannot_be_used() {
    let newer = CustomOp::open(&library("newer.c"), "Newer").map(drop);
    error(newer, &["Newer", "built for version 99 of the kernel interface; versions 1 to 1 are known"]);
    let file = library("add.cc");
    error(CustomOp::open(&file, "Addd").map(drop), &["has no function Addd; did you mean Add?"]);
    let linked = compile("add.cc", &options(&["-Wl,--no-undefined", "-DAdd=Other"])).unwrap();
    error(CustomOp::open(&linked, "Add").map(drop), &["has no function Add"]);
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    error(CustomOp::open(&text, "Add").map(drop), &["cannot be opened", "text.so"]);
    std::fs::write(&text, "no library").unwrap();
    error(CustomOp::open(&text, "Add").map(drop), &["cannot be opened", "text.so"]);
}
