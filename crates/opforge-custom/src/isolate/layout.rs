//! Where an instance's arguments lie in the region.

use super::process::REPORT_SIZE;
use super::worker::{Failure, Piece, Worker};
use crate::runner::Setup;
use crate::workspaces::Workspaces;

/// What arguments begin at multiples of, in bytes; they end as near to a guard as that allows.
const ALIGNMENT: u64 = 64;

/// How far around arguments is looked for writes beside them, in bytes.
const MARGIN: usize = 64;

/// What lies there.
const UNTOUCHED: [u8; MARGIN] = [0xc9; MARGIN];

/// The pieces of an instance, one behind the other; those of several instances lie over each other, for they run one at a time.
#[derive(Default)]
pub(super) struct Layout {
    /// Inputs, outputs and workspaces.
    pub pieces: Vec<Piece>,
    inputs: usize,
    outputs: usize,
}

impl Layout {
    pub fn new(setup: &Setup<'_>, workspaces: &Workspaces) -> Self {
        let page = rustix::param::page_size() as u64;
        let mut next = REPORT_SIZE;
        let mut place = |size: usize, writable| {
            let size = size as u64;
            let (offset, whole) = (next, size.next_multiple_of(page));
            next += whole;
            Piece { offset, size, shift: (whole - size) / ALIGNMENT * ALIGNMENT, writable }
        };
        let size = |meta: &opforge_core::Meta| meta.elem_count() * meta.dtype.size_in_bytes();
        let is_changed = |input| setup.aliases.contains(&Some(input));
        let mut pieces: Vec<Piece> =
            setup.inputs.iter().enumerate().map(|(i, meta)| place(size(meta), is_changed(i))).collect();
        for (meta, alias) in setup.outputs.iter().zip(setup.aliases) {
            let piece = alias.map_or_else(|| place(size(meta), true), |input| pieces[input]);
            pieces.push(piece);
        }
        pieces.extend(workspaces.sizes().map(|size| place(size, true)));
        Layout { pieces, inputs: setup.inputs.len(), outputs: setup.outputs.len() }
    }

    /// Where the last one ends.
    pub fn end(&self) -> u64 {
        self.pieces.iter().map(Piece::end).max().unwrap_or(0)
    }

    /// What errors call an argument, and its size in bytes.
    pub fn name(&self, argument: usize) -> Option<(String, usize)> {
        let name = match (argument.checked_sub(self.inputs), argument.checked_sub(self.inputs + self.outputs)) {
            (None, _) => format!("input {argument}"),
            (Some(output), None) => format!("output {output}"),
            (_, Some(workspace)) => format!("workspace {workspace}"),
        };
        Some((name, self.pieces.get(argument)?.size as usize))
    }

    /// The inputs and outputs that may be written, by their numbers among the arguments.
    pub fn written(&self) -> impl Iterator<Item = (usize, &Piece)> {
        let tensors = self.pieces[..self.inputs + self.outputs].iter().enumerate();
        tensors.filter(|(i, piece)| piece.writable && !self.pieces[..*i].contains(piece))
    }

    /// Marks what lies around arguments.
    pub fn mark(&self, worker: &Worker) -> Result<(), Failure> {
        let mut margins = self.written().flat_map(|(_, piece)| margins(piece));
        margins.try_for_each(|(start, length)| worker.write(&UNTOUCHED[..length], start))
    }

    /// Looks for what was written around arguments.
    pub fn check_marks(&self, worker: &Worker) -> Result<(), Failure> {
        for (argument, piece) in self.written() {
            for (start, length) in margins(piece) {
                let mut found = [0; MARGIN];
                worker.read(&mut found[..length], start)?;
                if let Some(at) = (0..length).find(|&i| found[i] != UNTOUCHED[i]) {
                    let byte = (start + at as u64).cast_signed() - piece.first().cast_signed();
                    return Err(Failure::Stray { argument, byte });
                }
            }
        }
        Ok(())
    }
}

/// What may lie before and behind an argument in its own pages: where it begins, and how long it is.
fn margins(piece: &Piece) -> impl Iterator<Item = (u64, usize)> + use<> {
    let page = rustix::param::page_size() as u64;
    let before = piece.shift.min(MARGIN as u64);
    let behind = (piece.end().next_multiple_of(page) - piece.end()).min(MARGIN as u64);
    [(piece.first() - before, before as usize), (piece.end(), behind as usize)].into_iter().filter(|(_, n)| *n > 0)
}
