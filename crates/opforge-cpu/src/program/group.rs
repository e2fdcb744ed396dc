//! Calls that run strip by strip: which may, how large their strips are, and their run.

use std::sync::Arc;

use opforge_core::Result;
use opforge_runtime::Strips;
use smallvec::SmallVec;

use super::ahead::Ahead;
use super::steps::{Operand, Place, Step, Tensors};

/// What a strip's tensors should take together, in bytes.
const TARGET: usize = 16 << 10;
/// A strip has at least so many elements, whatever they take: to begin a call takes as long as some hundred.
const LEAST: usize = 512;
/// Lengths of strips are multiples of this, as whole vectors and whole lines of the cache are.
const MULTIPLE: usize = 64;
/// Bytes that are left between rooms of strips: at multiples of 4 KiB a processor takes a load from one for a store to another.
const PADDING: usize = 320;

/// Where the output is among a kernel's operands.
const OUTPUT: usize = 3;

/// Calls of matrices of one shape.
pub(super) struct Group {
    calls: Vec<Call>,
    shape: [usize; 2],
    /// The rows and columns of a strip.
    strip: [usize; 2],
    ahead: Ahead,
}

/// A call of a group.
pub(super) struct Call {
    kernel: Arc<dyn Strips>,
    /// Which step it is.
    number: usize,
    /// Where operands lie that only pass between calls of the group: in every strip there, instead of their places.
    rooms: [Option<usize>; 4],
    /// Bytes from a row of strips, and from a column, to the next of each; 0 in rooms.
    pub moves: [[isize; 2]; 4],
    /// Bytes from a row to the next of each.
    rows: [isize; 4],
}

/// Kernels of calls that follow each other and may run strip by strip.
pub(super) struct Candidates {
    pub kernels: Vec<Arc<dyn Strips>>,
    shape: [usize; 2],
    seen: Vec<Seen>,
}

/// An operand of a candidate.
#[derive(Clone, Copy)]
struct Seen {
    place: Place,
    is_written: bool,
    steps: [isize; 2],
    /// Whether its matrix has one row, which may be several in a group.
    is_row: bool,
}

impl Seen {
    /// The steps in matrices of so many columns.
    fn in_matrix(&self, columns: usize) -> [isize; 2] {
        let [row, column] = self.steps;
        if self.is_row { [column * columns as isize, column] } else { [row, column] }
    }
}

impl Candidates {
    /// The first call, if it may, and those after it that may join it.
    pub fn from(steps: &[Step], size: usize, first: usize) -> Candidates {
        let mut found = Candidates { kernels: Vec::new(), shape: [1, 0], seen: Vec::new() };
        for step in &steps[first..] {
            let Some(kernel) = step.kernels[size].clone().strips() else { break };
            if !found.takes(step, &*kernel) {
                break;
            }
            found.kernels.push(kernel);
        }
        found
    }

    /// Adds a call's operands, if it may join: its matrix has the others' shape, and it walks along memory that one of them writes, or that it writes
    /// itself, as they do.
    fn takes(&mut self, step: &Step, kernel: &dyn Strips) -> bool {
        let own = kernel.shape();
        let is_same = own == self.shape
            || own[0] * own[1] == self.shape[0] * self.shape[1] && (own[0] == 1 || self.shape[0] == 1);
        if !is_same && !self.kernels.is_empty() {
            return false;
        }
        let shape = if own[0] == 1 && !self.kernels.is_empty() { self.shape } else { own };
        let steps = kernel.steps();
        let new = operands(step).map(|(k, operand)| Seen {
            place: operand.place,
            is_written: k == OUTPUT,
            steps: steps[k],
            is_row: own[0] == 1,
        });
        let before = self.seen.len();
        self.seen.extend(new);
        let agrees = |a: &Seen, b: &Seen| {
            a.place != b.place || !(a.is_written || b.is_written) || a.in_matrix(shape[1]) == b.in_matrix(shape[1])
        };
        let all_agree =
            (before..self.seen.len()).all(|i| self.seen[..i].iter().all(|other| agrees(other, &self.seen[i])));
        if all_agree {
            self.shape = shape;
        } else {
            self.seen.truncate(before);
        }
        all_agree
    }

    /// The group of these calls, and the working memory that its strips take, from `rooms` on: `is_own` tells places that only pass between the calls.
    pub fn group(self, steps: &[Step], first: usize, is_own: impl Fn(Place) -> bool, rooms: usize) -> (Group, usize) {
        let Candidates { kernels, shape, seen } = self;
        let mut places: Vec<(Place, usize)> = Vec::new();
        for Seen { place, steps: [_, column], .. } in &seen {
            match places.iter_mut().find(|(known, _)| known == place) {
                Some((_, size)) => *size = (*size).max(column.unsigned_abs()),
                None => places.push((*place, column.unsigned_abs())),
            }
        }
        let strip = strip(shape, places.iter().map(|(_, size)| size).sum());
        // Rows of a strip that is narrower than the matrix lie in a room as if it were as wide.
        let elements = if strip[0] > 1 { strip[0] * shape[1] } else { strip[1] };
        let mut bytes = 0;
        let mut own = Vec::new();
        for (place, size) in places.into_iter().filter(|(place, _)| is_own(*place)) {
            own.push((place, rooms + bytes));
            bytes += (elements * size).next_multiple_of(MULTIPLE) + PADDING;
        }
        let mut seen = seen.into_iter();
        let call = |(i, kernel): (usize, Arc<dyn Strips>)| {
            let mut call = Call { kernel, number: first + i, rooms: [None; 4], moves: [[0; 2]; 4], rows: [0; 4] };
            for ((k, _), x) in operands(&steps[first + i]).zip(seen.by_ref()) {
                let [row, column] = x.in_matrix(shape[1]);
                call.rows[k] = row;
                call.rooms[k] = own.iter().find(|(place, _)| *place == x.place).map(|(_, room)| *room);
                if call.rooms[k].is_none() {
                    call.moves[k] = [row * strip[0] as isize, column * strip[1] as isize];
                }
            }
            call
        };
        let calls: Vec<Call> = kernels.into_iter().enumerate().map(call).collect();
        let operands = calls
            .iter()
            .enumerate()
            .flat_map(|(i, call)| operands(&steps[call.number]).map(move |(k, operand)| (i, k, operand.place)));
        let ahead = Ahead::new(&calls, operands, usize::from(strip[0] == 1));
        (Group { calls, shape, strip, ahead }, bytes)
    }
}

/// The operands of a call of one output, by their numbers among those of its kernel.
fn operands(step: &Step) -> impl Iterator<Item = (usize, &Operand)> {
    step.inputs.iter().enumerate().chain(step.outputs.iter().map(|output| (OUTPUT, output)))
}

/// The rows and columns of strips of a matrix, whose elements take so many bytes together.
fn strip([rows, columns]: [usize; 2], bytes: usize) -> [usize; 2] {
    let elements = (TARGET / bytes.max(1)).max(LEAST);
    if columns < elements {
        return [(elements / columns.max(1)).clamp(1, rows.max(1)), columns];
    }
    // Equal ones, as far as can be.
    let count = columns.div_ceil(elements);
    [1, columns.div_ceil(count).next_multiple_of(MULTIPLE).min(columns)]
}

impl Group {
    /// Runs the calls on a block: where it is along each loop.
    ///
    /// # Safety
    /// As [`super::strips::Plans::run`].
    pub unsafe fn run(&self, steps: &[Step], tensors: &Tensors<'_>, local: *mut u8, at: &[usize]) -> Result<()> {
        let bases = self.calls.iter().map(|call| {
            let mut bases = [std::ptr::null_mut(); 4];
            for (k, operand) in operands(&steps[call.number]) {
                let address = || tensors.address(operand, local, at);
                bases[k] = call.rooms[k].map_or_else(address, |room| local.wrapping_add(room));
            }
            bases
        });
        let bases: SmallVec<[[*mut u8; 4]; 8]> = bases.collect();
        let ([rows, columns], [height, width]) = (self.shape, self.strip);
        for (down, row) in (0..rows).step_by(height).enumerate() {
            for (across, column) in (0..columns).step_by(width).enumerate() {
                let shape = [height.min(rows - row), width.min(columns - column)];
                for (number, (call, own)) in self.calls.iter().zip(&bases).enumerate() {
                    self.ahead.ask(&bases, number, [down, across]);
                    let by = |k: usize| down as isize * call.moves[k][0] + across as isize * call.moves[k][1];
                    let strip = std::array::from_fn(|k| own[k].wrapping_offset(by(k)));
                    // SAFETY: the strip is a part of the block's tensors; rooms are as large as one.
                    unsafe { call.kernel.run_strip(&strip, shape, &call.rows)? };
                }
            }
        }
        Ok(())
    }
}
