//! What programs tell of themselves.

use crate::common::{floats, vec};
use opforge::Device;
use opforge::fusion::Obstacle;
use opforge_graph::inside::{Apart, Limits};
use opforge_graph::{Options, Program, trace};

fn program(fusion: bool) -> Program {
    let x = floats(&[64, 48], 1);
    let graph = trace(&[&x], |x| {
        let y = (&x[0] * 2.0)?.tanh()?;
        let z = y.matmul(&y.t()?)?.relu()?.exp()?;
        Ok(vec![z.sum_all()?, y.sort_last_dim(true)?.0])
    });
    graph.unwrap().compile_with(Options { fusion, ..Options::default() }).unwrap()
}

#[test]
fn kernels_are_told_with_what_they_touch_and_why_they_are_several() {
    let program = program(true);
    let stages = program.stages();
    assert_eq!(stages[0].calls, ["affine f32[64, 48]", "tanh f32[64, 48]"]);
    assert_eq!((stages[0].bytes, stages[0].flops), (2 * 64 * 48 * 4, 0));
    assert_eq!(stages[0].apart, Some(Apart::Obstacle("matmul", Obstacle::Product)));
    assert_eq!(stages[1].calls, ["matmul f32[64, 64]", "relu f32[64, 64]", "exp f32[64, 64]"]);
    assert_eq!((stages[1].bytes, stages[1].flops), ((64 * 48 + 64 * 64) * 4, 2 * 64 * 64 * 48));
    assert_eq!(stages[1].apart, Some(Apart::Obstacle("sum", Obstacle::AfterProduct)));
    assert_eq!(stages.last().unwrap().apart, None);
    let text = program.explain();
    for part in ["kernel 0: 2 calls, 24.6 KB", "then another, for matmul: it is a product of matrices"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn without_fusion_each_call_is_a_kernel() {
    let program = program(false);
    assert!(program.stages().iter().all(|stage| stage.calls.len() == 1));
    assert_eq!(program.stages()[0].apart, Some(Apart::Off));
}

#[test]
fn each_kernel_is_timed() {
    let (program, x) = (program(true), floats(&[64, 48], 3));
    let expected: Vec<Vec<f32>> = program.run(&[&x]).unwrap().iter().map(vec).collect();
    let timings = program.measure(&[&x], 3).unwrap();
    assert!(timings.times().iter().all(|time| time.as_nanos() > 0), "{:?}", timings.times());
    assert_eq!(timings.times().len(), program.stages().len());
    let table = timings.to_string();
    assert_eq!(table.lines().count(), program.stages().len() + 2, "{table}");
    assert!(table.contains("matmul f32[64, 64]") && table.contains('%'), "{table}");
    assert_eq!(program.run(&[&x]).unwrap().iter().map(vec).collect::<Vec<_>>(), expected);
    let limits = Limits::measured(Device::Cpu).unwrap();
    assert!(limits.bytes > 1e8 && limits.flops > 1e8, "{limits:?}");
    assert!(program.measure(&[], 1).is_err());
}

#[test]
fn the_picture_shows_each_call_and_each_piece_of_memory() {
    let program = program(true);
    let svg = program.draw();
    let texts =
        program.stages().iter().flat_map(|stage| &stage.calls).filter(|call| svg.contains(&format!(">{call}<")));
    assert_eq!(texts.count(), program.stages().iter().map(|stage| stage.calls.len()).sum::<usize>());
    assert_eq!(svg.matches("<rect").count(), 1 + program.stages().len() + program.passing().len());
    assert!(program.passing().iter().all(|piece| piece.offset + piece.life.bytes <= program.memory()));
    assert!(svg.ends_with("</svg>\n"));
}
