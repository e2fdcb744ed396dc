//! What is timed, and how the table reads; no test depends on times.

use std::time::Duration;

use crate::checked::kernel;
use opforge_custom::ShapeRule;
use opforge_custom::bench::{Options, bench};

#[test]
fn sizes_are_timed_from_small_to_large() {
    let add = kernel("correct/add.cc", "Add");
    let options = Options { exponents: 2..12, duration: Duration::from_millis(1), ..Options::default() };
    let found = bench(&add.shapes(ShapeRule::Like(0)), &options).unwrap();
    let bytes: Vec<usize> = found.lines.iter().map(|line| line.bytes).collect();
    assert_eq!(bytes, [4 * 4 * 3, 64 * 4 * 3, 1024 * 4 * 3]);
    assert!(found.lines.iter().all(|line| line.call > 0.0 && line.copy > 0.0));
    let text = found.to_string();
    assert!(text.contains("x float32[1024], y float32[1024]") && text.contains("of the floor"), "{text}");
}

#[test]
fn ranks_follow_what_the_operator_takes() {
    let product = kernel("correct/matmul.cc", "Matmul");
    let options = Options { exponents: 4..5, duration: Duration::from_millis(1), ..Options::default() };
    let found = bench(&product, &options).unwrap();
    assert_eq!(found.lines[0].case.inputs[1].shape, [4, 4]);
}
