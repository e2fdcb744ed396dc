//! What of a block's targets is computed at a time: some lines, or a part of one, of the systems whose targets alternate in lines.

use std::ops::Range;

use super::MAX_SPATIAL;
use super::correlate::System;
use super::geometry::Lengths;
use super::phase::counts;
use super::product::COLUMNS;
use super::slab::Blocks;

const LAST: usize = MAX_SPATIAL - 1;

/// The targets of systems that fill lines together, in a block of some images.
#[derive(Clone, Copy)]
pub(super) struct Targets<'a> {
    pub systems: &'a [System],
    pub blocks: &'a Blocks,
    pub block: usize,
    pub images: usize,
}

/// Some of them.
pub(super) struct Piece {
    /// Lines of all images; several, or parts of one.
    pub lines: Range<usize>,
    /// Of each system's part of a line.
    part: Range<usize>,
}

impl<'a> Targets<'a> {
    /// A system's along each dimension, of one image.
    #[inline(always)]
    pub fn of(&self, system: &System) -> Lengths {
        self.blocks.targets_of(self.block, counts(&system.phase))
    }

    fn lines(&self) -> usize {
        self.images * self.of(&self.systems[0])[..LAST].iter().product::<usize>()
    }

    fn line_lengths(&self) -> impl Iterator<Item = usize> {
        self.systems.iter().map(|system| self.of(system)[LAST])
    }

    /// The first piece, and the largest.
    pub fn first(&self) -> Piece {
        let (all, longest) = (self.line_lengths().sum::<usize>().max(1), self.line_lengths().max().unwrap_or(0));
        let part = if all <= COLUMNS { longest } else { (COLUMNS / self.systems.len()).clamp(1, longest) };
        Piece { lines: 0..(COLUMNS / all).clamp(1, self.lines().max(1)), part: 0..part }
    }

    /// All pieces, in order.
    pub fn pieces(self) -> impl Iterator<Item = Piece> {
        let (Piece { lines: some, part }, lines) = (self.first(), self.lines());
        let longest = self.line_lengths().max().unwrap_or(0);
        (0..lines).step_by(some.len()).flat_map(move |line| {
            let (lines, parts) = (line..lines.min(line + some.len()), (0..longest).step_by(part.len().max(1)));
            let end = part.len();
            parts.map(move |from| Piece { lines: lines.clone(), part: from..longest.min(from + end) })
        })
    }

    /// A system's part of each of a piece's lines.
    #[inline(always)]
    pub fn part(&self, piece: &Piece, system: &System) -> Range<usize> {
        let len = self.of(system)[LAST];
        piece.part.start.min(len)..piece.part.end.min(len)
    }

    /// A system's targets of a piece, by their numbers in the order of lines.
    #[inline(always)]
    pub fn numbers(&self, piece: &Piece, system: &System) -> Range<usize> {
        let (len, part) = (self.of(system)[LAST], self.part(piece, system));
        let start = piece.lines.start * len + part.start;
        start..start + piece.lines.len() * part.len()
    }

    /// How many targets of a piece each system has.
    pub fn columns(&self, piece: &Piece) -> impl Iterator<Item = usize> {
        self.systems.iter().map(|system| self.numbers(piece, system).len())
    }
}
