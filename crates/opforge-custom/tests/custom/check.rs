//! The checker finds every planted defect, and nothing in correct kernels.

use std::sync::Arc;
use std::time::Duration;

use crate::checked::kernel;

use opforge::DType;
use opforge_custom::check::{Options, Probe, Reference, Report, check};
use opforge_custom::{CustomOp, DTypeRule, Gradient, ShapeRule};

fn report(op: &CustomOp) -> Report {
    check(op, &Options { timeout: Duration::from_secs(60), ..Options::default() }).unwrap()
}

/// The report of a defect, which names this probe and no other.
#[track_caller]
fn finds(op: &CustomOp, probe: Probe) -> Report {
    let report = report(op);
    assert_eq!(report.defects(), [probe], "\n{report}");
    println!("{report}\n");
    report
}

#[track_caller]
fn passes(op: &CustomOp) {
    let report = report(op);
    assert!(report.is_clean(), "\n{report}");
    println!("{report}\n");
}

/// The operator in the file of its name, in snake case, among the defects.
fn defect(function: &str) -> CustomOp {
    kernel(&format!("defects/{}.cc", snake(function)), function)
}

fn snake(name: &str) -> String {
    let letter = |(i, c): (usize, char)| {
        let underscore = if i > 0 && c.is_uppercase() { "_" } else { "" };
        format!("{underscore}{}", c.to_lowercase())
    };
    name.chars().enumerate().map(letter).collect()
}

/// A kernel of `defects` that makes a tensor like its input.
fn like(name: &str) -> CustomOp {
    defect(name).shapes(ShapeRule::Like(0))
}

#[test]
fn overruns_are_found() {
    let report = finds(&like("Overrun"), Probe::Overrun);
    assert!(report.to_string().contains("past the end of output 0 (float32[3, 4]): at byte 48 of 48"), "{report}");
}

#[test]
fn underruns_are_found() {
    finds(&like("Underrun"), Probe::Underrun);
}

#[test]
fn writes_to_inputs_are_found() {
    finds(&like("InputWrite"), Probe::InputWrite);
}

#[test]
fn unwritten_elements_are_found() {
    finds(&like("Unwritten"), Probe::Unwritten);
}

#[test]
fn nondeterminism_is_found() {
    finds(&like("Nondeterministic"), Probe::Nondeterminism);
}

#[test]
fn races_are_found() {
    finds(&like("Race"), Probe::Race);
}

#[test]
fn leaks_of_calls_are_found() {
    finds(&like("Leak"), Probe::Leak);
}

#[test]
fn leaks_of_kernel_data_are_found() {
    finds(&like("DataLeak"), Probe::Leak);
}

#[test]
fn overruns_of_workspaces_are_found() {
    finds(&like("WorkspaceOverrun"), Probe::Overrun);
}

#[test]
fn uninitialised_workspaces_are_found() {
    finds(&like("Uninitialised"), Probe::Uninitialised);
}

#[test]
fn shapes_that_are_too_large_are_found() {
    finds(&defect("ShapeTooLarge"), Probe::Unwritten);
}

#[test]
fn shapes_that_are_too_small_are_found() {
    finds(&defect("ShapeTooSmall"), Probe::Overrun);
}

#[test]
fn nonsense_for_unknown_shapes_is_found() {
    finds(&defect("ShapeUnknown"), Probe::Inference);
}

#[test]
fn crashes_on_empty_tensors_are_found() {
    finds(&like("EmptyCrash"), Probe::Overrun);
}

#[test]
fn crashes_on_large_tensors_are_found() {
    finds(&like("LargeCrash"), Probe::Crash);
}

#[test]
fn endless_loops_are_found() {
    let report = check(&like("Endless"), &Options { timeout: Duration::from_secs(1), ..Options::default() }).unwrap();
    assert_eq!(report.defects(), [Probe::Crash], "\n{report}");
    assert!(report.to_string().contains("took longer than the limit of 1s"), "{report}");
}

#[test]
fn dependence_on_earlier_calls_is_found() {
    finds(&like("State"), Probe::State);
}

#[test]
fn changed_arrays_are_found() {
    finds(&like("ChangesShapes"), Probe::Arrays);
}

#[test]
fn overruns_of_the_kernels_own_memory_are_found_by_sanitizers() {
    let like = like("HeapOverrun");
    assert!(report(&like).is_clean());
    let report = check(&like, &Options { sanitize: true, ..Options::default() }).unwrap();
    assert_eq!(report.defects(), [Probe::Sanitizer], "\n{report}");
    assert!(report.to_string().contains("heap-buffer-overflow"), "{report}");
}

#[test]
fn wrong_gradients_are_found() {
    let gradient = kernel("defects/wrong_gradient.cc", "SquareGradient").shapes(ShapeRule::Like(0));
    let square = kernel("defects/wrong_gradient.cc", "Square").shapes(ShapeRule::Like(0));
    finds(&square.clone().gradient(Gradient::Op(gradient)).unwrap(), Probe::Gradient);
    passes(&square.gradient_by(|ctx| Ok(vec![Some((&ctx.inputs[0] * (&ctx.grads[0] * 2.0)?)?)])).unwrap());
}

#[test]
fn correct_kernels_pass() {
    let correct = |file: &str, name: &str| kernel(&format!("correct/{file}"), name);
    let like = |file: &str, name: &str| correct(file, name).shapes(ShapeRule::Like(0));
    let accepts = |op: CustomOp, dtypes: &[DType]| op.accepts(dtypes.iter().copied().map(Some).collect());

    passes(&accepts(accepts(like("add.cc", "Add"), &[DType::F32; 3]), &[DType::F64; 3]));
    passes(&like("scale.c", "Scale"));
    for (axis, keep_dim) in [(0, false), (-1, true)] {
        let reduce = correct("reduce_sum.cc", "ReduceSum");
        passes(&reduce.attr("axis", axis).unwrap().attr("keep_dim", keep_dim).unwrap());
    }
    passes(&correct("moments.cc", "Moments"));
    passes(&like("accumulate.cc", "Accumulate"));
    passes(&correct("total.cc", "Total"));
    passes(&correct("pad.c", "Pad").attr("around", vec![2i64, 3]).unwrap());
    passes(&accepts(accepts(like("flip.cc", "Flip"), &[DType::F16; 2]), &[DType::BF16; 2]));
    let sine = like("table.cc", "Sine").dtypes(DTypeRule::Fixed(vec![DType::F32]));
    passes(&accepts(sine, &[DType::I32, DType::F32]));
    passes(&like("threads.cc", "Squares"));
    passes(&like("polynomial.cc", "Polynomial").attr("coefficients", vec![1f32, -2.0, 3.0]).unwrap());
    let cube = accepts(like("cube.cc", "Cube"), &[DType::F64; 2]);
    passes(&cube.gradient(Gradient::Op(like("cube.cc", "CubeGradient"))).unwrap());
}

#[test]
fn given_shapes_are_tried() {
    let product = kernel("correct/matmul.cc", "Matmul");
    let shapes = vec![vec![vec![4, 5], vec![5, 3]], vec![vec![1, 2], vec![2, 1]], vec![vec![0, 5], vec![5, 0]]];
    let options = Options { shapes, ..Options::default() };
    let report = check(&product, &options).unwrap();
    assert!(report.is_clean() && report.cases.len() == 3, "{report}");

    let options = Options { shapes: vec![vec![vec![4, 5], vec![4, 5]]], ..Options::default() };
    let report = check(&product, &options).unwrap();
    assert_eq!(report.defects(), [Probe::Refused], "{report}");
}

#[test]
fn references_are_compared() {
    let square = kernel("defects/wrong_gradient.cc", "Square").shapes(ShapeRule::Like(0));
    let with = |factor: f64| {
        let reference: Reference = Arc::new(move |x, _| Ok(vec![(&x[0] * (&x[0] * factor)?)?]));
        check(&square, &Options { reference: Some(reference), ..Options::default() }).unwrap()
    };
    assert!(with(1.0).is_clean());
    assert_eq!(with(1.001).defects(), [Probe::Reference]);
}

#[test]
fn a_case_is_checked_again_alone() {
    let report = check(&like("Overrun"), &Options { case: Some(3), ..Options::default() }).unwrap();
    assert_eq!(report.defects(), [Probe::Overrun]);
    assert_eq!(report.cases.len(), 1);
    assert_eq!(report.findings[0].case.number, 3);
}

#[test]
fn wrong_use_is_refused() {
    let undeclared = kernel("correct/cube.cc", "CubeGradient");
    assert!(check(&undeclared, &Options::default()).unwrap_err().to_string().contains("an unknown number"));
    let add = kernel("correct/add.cc", "Add");
    assert!(check(&add, &Options::default()).unwrap_err().to_string().contains("has no shape for its outputs"));
    let add = add.shapes(ShapeRule::Like(0));
    assert!(check(&add, &Options { case: Some(99), ..Options::default() }).is_err());
    assert!(check(&add, &Options { shapes: vec![vec![vec![1]; 3]], ..Options::default() }).is_err());
    let reduce = kernel("correct/reduce_sum.cc", "ReduceSum");
    assert!(check(&reduce, &Options::default()).unwrap_err().to_string().contains("axis"));
    assert!(check(&CustomOp::from_fn("f", |x, _| Ok(x.to_vec())), &Options::default()).is_err());
}
