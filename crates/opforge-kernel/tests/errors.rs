//! What goes wrong in kernels in Rust is an error with a text, and data is dropped.

mod common;

use std::path::Path;

use common::{CPU, error, fails, kernel, vector};
use opforge::{DType, Result, Tensor};
use opforge_custom::{CustomOp, DTypeRule, ShapeRule};

#[track_caller]
fn failing(how: &str, parts: &[&str]) {
    fails(&kernel("failing").attr("how", how).unwrap(), &[&vector(&[1.5, 2.0])], parts);
}

#[test]
fn errors_and_panics_come_with_their_texts() {
    failing("error", &["failing", "libkernels.so", "error code 1: a text\\0with a zero"]);
    failing("number", &["error code 1: invalid float literal"]);
    failing("panic", &["error code 3: panicked: 1.5 is too much"]);
    failing("index", &["error code 3: panicked: index [7] is not in shape [2]"]);
    failing("value", &["error code 3: panicked: with a value that is no text"]);
    failing("magic", &["error code 1: magic is unknown"]);
    assert_eq!(kernel("scale").attr("factor", 2f32).unwrap().apply(&[&vector(&[1.0])]).unwrap().elem_count(), 1);
}

#[test]
fn missing_and_mistyped_attributes_are_named() -> Result<()> {
    let x = vector(&[1.0]);
    fails(&kernel("scale"), &[&x], &["error code 1: there is no attribute 'factor'"]);
    fails(&kernel("scale").attr("factor", 1i64)?, &[&x], &["attribute 'factor' is not a float"]);
    fails(&kernel("failing").attr("how", true)?, &[&x], &["attribute 'how' is not a text"]);
    Ok(())
}

#[test]
fn other_dtypes_are_refused_by_name() -> Result<()> {
    let scale = kernel("scale").attr("factor", 1f32)?;
    fails(&scale, &[&Tensor::new(&[1f64], CPU)?], &["error code 2: x has dtype float64; accepted: float32"]);
    let wide = scale.dtypes(DTypeRule::Fixed(vec![DType::F64]));
    fails(&wide, &[&vector(&[1.0])], &["y has dtype float64; accepted: float32"]);
    let truth = Tensor::new(&[1u8], CPU)?.to_dtype(DType::Bool)?;
    let text = fails(&kernel("add"), &[&truth, &truth], &["dtype bool is not supported; accepted: int8, "]);
    assert!(text.ends_with("float32, float64"), "{text}");
    fails(&kernel("add"), &[&vector(&[1.0]), &Tensor::new(&[1f64], CPU)?], &["y has dtype float64"]);
    Ok(())
}

#[test]
fn other_numbers_of_arguments_are_refused() -> Result<()> {
    let x = vector(&[1.0]);
    let like = |op: CustomOp, outputs: usize| op.shapes(ShapeRule::Like(0)).outputs(outputs);
    let scale = || kernel("scale").attr("factor", 1f32).unwrap();
    fails(&scale(), &[&x, &x], &["error code 2: 2 inputs given; accepted: 1 (x)"]);
    fails(&like(scale(), 1), &[&x, &x], &["2 inputs given; accepted: 1 (x)"]);
    fails(&like(scale(), 2), &[&x], &["2 outputs given; accepted: 1 (y)"]);
    // As many arguments in all as it takes.
    fails(&like(kernel("add"), 2), &[&x], &["1 inputs given; accepted: 2 (x, y)"]);
    let sums = like(kernel("column_sums"), 1).dtypes(DTypeRule::Like(0));
    fails(&sums, &[&x], &["column_sumsInit returned error code 2: 1 outputs given; accepted: 2 (y, runs)"]);
    error(kernel("div_rem").infer(&[(vec![1], DType::I32)], &[]), &["1 inputs given; accepted: 2 (x, y)"]);
    Ok(())
}

#[test]
fn an_output_must_not_be_a_plain_input() -> Result<()> {
    let op = kernel("scale").attr("factor", 2f32)?.with_schema("(Tensor(a!) x, *, float factor) -> Tensor(a!)")?;
    fails(&op, &[&vector(&[1.0])], &["x and y share memory"]);
    Ok(())
}

#[test]
fn bytes_that_are_no_truth_values() -> Result<()> {
    let truth = kernel("reinterpret").shapes(ShapeRule::Like(0)).dtypes(DTypeRule::Fixed(vec![DType::Bool]));
    let truth = |bytes: &[u8]| truth.apply(&[&Tensor::new(bytes, CPU)?]);
    assert_eq!(kernel("LogicalNot").apply(&[&truth(&[1, 0])?])?.to_vec1::<bool>()?, [false, true]);
    fails(&kernel("LogicalNot"), &[&truth(&[1, 2])?], &["error code 2: x holds bytes that are no bool"]);
    Ok(())
}

#[test]
fn initialisation_and_inference_fail_likewise() -> Result<()> {
    let op = kernel("bombs");
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, CPU);
    fails(&op, &[&zeros(&[])?], &["bombsInit returned error code 1: rank 0 has no length"]);
    fails(&op, &[&zeros(&[0])?], &["bombsInit returned error code 3: panicked: nothing to do"]);
    fails(&op, &[&zeros(&[1, 1, 1])?], &["bombsInfer returned error code 3: panicked: rank"]);
    Ok(())
}

#[test]
fn a_panic_while_data_is_dropped_stays_inside() -> Result<()> {
    let op = kernel("bombs");
    assert_eq!(op.apply(&[&vector(&[0.0])])?.to_vec1::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn data_is_dropped_with_the_operator() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("note");
    // On a thread of its own, since each remembers calls that it prepared.
    let thread = std::thread::spawn({
        let path = path.clone();
        move || -> Result<()> {
            let op = kernel("noted").attr("path", path.to_str().unwrap())?;
            assert_eq!(op.apply(&[&vector(&[1.0])])?.to_vec1::<f32>()?, [1.0]);
            assert!(!path.exists());
            Ok(())
        }
    });
    thread.join().unwrap()?;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "dropped");
    Ok(())
}

/// Calls a kernel of a library that no other test opens, on a thread that then ends.
fn call_once(file: &Path, kernel: &str) -> Result<()> {
    std::fs::copy(common::library(), file).unwrap();
    let call = || -> Result<()> {
        let op = CustomOp::open(file, kernel)?.shapes(ShapeRule::Fixed(vec![vec![1]]));
        op.dtypes(DTypeRule::Fixed(vec![DType::F32])).apply(&[&vector(&[1.0])])?.to_scalars().map(drop)
    };
    std::thread::scope(|scope| scope.spawn(call).join().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn libraries_stay_when_their_operators_have_gone() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    call_once(&folder.path().join("resident.so"), "negate")?;
    assert!(std::fs::read_to_string("/proc/self/maps").unwrap().contains("resident.so"));
    Ok(())
}

#[test]
fn destructors_of_thread_locals_run_when_the_operator_has_gone() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    call_once(&folder.path().join("locals.so"), "calls")
}
