//! Convolutions as graphs of one operation.

use std::ffi::c_int;

use opforge_tile::forms::Part;

use super::Problem;
use super::graph::{Functions, Graph, Planned, Values, note};
use crate::driver::Handle;

/// How a filter meets its input: the kind of its descriptor, and its attributes.
mod meeting {
    use std::ffi::c_int;

    pub const KIND: c_int = 1;
    pub const SUMMED_IN: c_int = 100;
    pub const MODE: c_int = 101;
    pub const DILATIONS: c_int = 102;
    pub const STRIDES: c_int = 103;
    pub const PADDING_AFTER: c_int = 104;
    pub const PADDING_BEFORE: c_int = 105;
    pub const SPATIAL: c_int = 106;
}

/// The kind of a convolution's operation, and its attributes: `alpha`, `beta`, how tensors meet, `x`, `w`, `y` (`cudnnBackendAttributeName_t`).
fn operation(part: Part) -> (c_int, [c_int; 6]) {
    match part {
        Part::Output => (10, [700, 701, 702, 704, 703, 705]),
        Part::Weight => (11, [712, 713, 714, 716, 715, 717]),
        Part::Input => (12, [706, 707, 708, 710, 709, 711]),
    }
}

/// cuDNN's number of single precision.
const SINGLE: c_int = 0;

fn wide(all: &[c_int]) -> Vec<i64> {
    all.iter().map(|&n| i64::from(n)).collect()
}

/// Has the library prepare a convolution by the first engine that it proposes of those that give the same results at every run, and neither round inputs
/// nor, unless `by_matrices`, use units that would. A run gives `x`, `w` and `y`.
pub(super) fn plan(
    functions: &'static Functions,
    handle: Handle,
    of: &Problem,
    (kind, of_sums): (c_int, c_int),
    by_matrices: bool,
) -> Option<Planned> {
    let mut graph = Graph::new(functions);
    let mut tensor = |dims: &[c_int]| graph.given(kind, &wide(dims), &wide(&of.channels.strides(dims)?));
    let [x, w, y] = [tensor(&of.x)?.at, tensor(&of.w)?.at, tensor(&of.y)?.at];
    let [padding, stride, dilation] = [&of.padding, &of.stride, &of.dilation].map(|all| wide(all));
    let not_mirrored = 1;
    let attributes = [
        (meeting::SUMMED_IN, Values::DType(of_sums)),
        (meeting::MODE, Values::Mode(not_mirrored)),
        (meeting::DILATIONS, Values::Integers(&dilation)),
        (meeting::STRIDES, Values::Integers(&stride)),
        (meeting::PADDING_AFTER, Values::Integers(&padding)),
        (meeting::PADDING_BEFORE, Values::Integers(&padding)),
        (meeting::SPATIAL, Values::Integers(&[padding.len() as i64])),
    ];
    let meeting = graph.describe(meeting::KIND, &attributes)?;
    let (kind, [alpha, beta, by, at_x, at_w, at_y]) = operation(of.part);
    let tensors = [(by, &[meeting]), (at_x, &[x]), (at_w, &[w]), (at_y, &[y])];
    let mut attributes: Vec<_> = tensors.iter().map(|&(attribute, of)| (attribute, Values::Descriptors(of))).collect();
    // Factors are in the dtype that is summed in.
    let factor = |of: f32| if of_sums == SINGLE { Values::Single(of) } else { Values::Double(of.into()) };
    attributes.extend([(alpha, factor(1.0)), (beta, factor(0.0))]);
    graph.operation(kind, &attributes)?;
    graph.plan(handle, |note| match note {
        note::BY_MATRICES => !by_matrices,
        note => [note::CONVERTS_INPUTS, note::SUMS_IN_LESS, note::NOT_DETERMINISTIC].contains(&note),
    })
}
