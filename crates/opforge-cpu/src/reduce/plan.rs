//! How a reduction walks its input, decided from shape and strides.

use crate::loops::plan::{LoopDim, LoopDims, iterations, order_and_merge};
use opforge_core::{Error, Meta, Result};

/// Rows shorter than this cost more to start than to fold.
const LONG_ROW: usize = 32;
/// The same where many short rows are folded together: of floats by vectors, of integers by plain loops.
const LONG_ROW_OF_FLOATS: usize = 8;
const LONG_ROW_OF_INTS: usize = 2;
/// Contiguous columns narrower than this do not fill the vector loops.
const WIDE: usize = 64;
/// Elements of a tile of columns.
pub(super) const TILE: usize = 1024;

/// How one reduction walks its input. Strides are in elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// Loops over outputs around the form: (input, output) strides.
    pub outer: LoopDims<2>,
    /// Loops over what is reduced, around the form.
    pub reduced: LoopDims<1>,
    /// Input elements per output, each counted once.
    pub count: usize,
    /// How many times each of them is there: dimensions along which the input stays where it is are not walked.
    pub repeats: usize,
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Each output reduces, for every step of `reduced`, a contiguous row of `len`.
    Rows { len: usize },
    /// Each output reduces single elements, one for every step of `reduced`.
    Scattered,
    /// `width` outputs together reduce, for every step of `reduced`, that many elements.
    Columns { width: usize, stride: usize, out_stride: usize },
    /// A contiguous `[count, width]` block is read as rows of `width * repeat`; the `repeat` partial results are folded at the end.
    /// `repeat` is a power of two.
    Narrow { width: usize, repeat: usize, out_stride: usize },
}

impl Plan {
    /// Outputs times elements: a measure of the work.
    pub fn work(&self) -> usize {
        let width = match self.form {
            Form::Rows { .. } | Form::Scattered => 1,
            Form::Columns { width, .. } | Form::Narrow { width, .. } => width,
        };
        iterations(&self.outer) * width * self.count.max(1)
    }
}

/// Splits the input's dimensions into kept ones, with their strides in a contiguous output, and reduced ones.
pub(super) fn split(op: &'static str, input: &Meta, axes: &[usize]) -> Result<(LoopDims<2>, LoopDims<1>)> {
    if let Some(&axis) = axes.iter().find(|&&axis| axis >= input.rank()) {
        return Err(Error::index(op, "axes", axis, format!("an axis of the shape {:?}", input.shape())));
    }
    let (mut kept, mut reduced) = (LoopDims::<2>::new(), LoopDims::<1>::new());
    let mut out_stride = 1;
    for axis in (0..input.rank()).rev() {
        let (len, stride) = (input.dims()[axis], input.layout.stride()[axis]);
        if axes.contains(&axis) {
            reduced.insert(0, LoopDim { len, stride: [stride] });
        } else {
            kept.insert(0, LoopDim { len, stride: [stride, out_stride] });
            out_stride *= len;
        }
    }
    Ok((kept, reduced))
}

/// Refuses an output of another size or layout than the kept dimensions make.
pub(super) fn check_output(op: &'static str, output: &Meta, kept: &LoopDims<2>) -> Result<()> {
    if output.elem_count() != iterations(kept) || !output.layout.is_contiguous() {
        let accepted = format!("a contiguous tensor of {} elements", iterations(kept));
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), accepted));
    }
    Ok(())
}

impl Plan {
    /// Chooses the loops that read memory in order and fill vectors, for folds of floats or of integers.
    pub fn new(kept: LoopDims<2>, reduced: LoopDims<1>, is_float: bool) -> Plan {
        let long_row = if is_float || reduced.len() > 1 { LONG_ROW_OF_FLOATS } else { LONG_ROW_OF_INTS };
        Self::of_repeated(kept, reduced, Preferences { narrow: true, long_row })
    }

    fn of_repeated(kept: LoopDims<2>, mut reduced: LoopDims<1>, preferences: Preferences) -> Plan {
        let mut repeats = 1;
        if reduced.iter().all(|d| d.len > 0) {
            repeats = reduced.iter().filter(|d| d.stride == [0]).map(|d| d.len).product();
            reduced.retain(|d| d.stride != [0]);
        }
        Plan { repeats, ..Self::choose(kept, reduced, preferences) }
    }

    /// As [`Plan::new`], but never [`Form::Narrow`], which needs accumulators that can be read from anywhere, and of single elements: it does not tell
    /// which are repeated.
    pub fn without_narrow(kept: LoopDims<2>, reduced: LoopDims<1>) -> Plan {
        Self::choose(kept, reduced, Preferences { narrow: false, long_row: LONG_ROW })
    }

    fn choose(mut kept: LoopDims<2>, mut reduced: LoopDims<1>, preferences: Preferences) -> Plan {
        let count = iterations(&reduced);
        let outputs = iterations(&kept);
        if count == 0 || outputs == 0 {
            let outer = LoopDims::from_elem(LoopDim { len: outputs, stride: [0, 1] }, 1);
            return Plan { outer, reduced: LoopDims::new(), count, repeats: 1, form: Form::Rows { len: 0 } };
        }
        order_and_merge(&mut kept);
        order_and_merge(&mut reduced);
        let form = choose(&mut kept, &mut reduced, count, preferences);
        Plan { outer: kept, reduced, count, repeats: 1, form }
    }
}

/// What a fold is good at.
#[derive(Clone, Copy)]
struct Preferences {
    /// Whether [`Form::Narrow`] will do.
    narrow: bool,
    /// From this length on rows are folded as such.
    long_row: usize,
}

/// Takes the form's own loops out of `kept` and `reduced`.
fn choose(
    kept: &mut LoopDims<2>,
    reduced: &mut LoopDims<1>,
    count: usize,
    Preferences { narrow, long_row }: Preferences,
) -> Form {
    if let Some(row) = reduced.last().copied()
        && row.stride == [1]
        && (row.len >= long_row || kept.is_empty() && reduced.len() == 1)
    {
        reduced.pop();
        return Form::Rows { len: row.len };
    }
    if narrow
        && let &[LoopDim { stride: [step], .. }] = &reduced[..]
        && let Some(column) = kept.iter().position(|d| d.stride[0] == 1 && d.len == step && d.len < WIDE)
        && let repeat @ 2.. = narrow_repeat(step, count)
    {
        let LoopDim { len: width, stride: [_, out_stride] } = kept.remove(column);
        return Form::Narrow { width, repeat, out_stride };
    }
    let Some(column) = best_column(kept) else { return Form::Scattered };
    let LoopDim { len: width, stride: [stride, out_stride] } = kept[column];
    // What is reduced lies closer together than the columns do.
    let is_row = |row: &LoopDim<1>| row.len >= LONG_ROW && row.stride[0] < stride;
    if width < 8 && count > width || reduced.last().is_some_and(is_row) {
        return Form::Scattered;
    }
    kept.remove(column);
    Form::Columns { width, stride, out_stride }
}

/// The kept dimension to vectorise along: a contiguous one of some length, else the longest that moves.
fn best_column(kept: &LoopDims<2>) -> Option<usize> {
    let moving = || kept.iter().enumerate().filter(|(_, d)| d.stride[0] != 0);
    let contiguous = moving().find(|(_, d)| d.stride[0] == 1 && d.len >= 16);
    contiguous.or_else(|| moving().max_by_key(|(_, d)| d.len)).map(|(i, _)| i)
}

/// The largest power of two of rows that fit a tile and leave at least 8 of them to fold.
fn narrow_repeat(width: usize, count: usize) -> usize {
    let most = (TILE / width).min(count / 8);
    if most == 0 { 1 } else { 1 << most.ilog2() }
}
