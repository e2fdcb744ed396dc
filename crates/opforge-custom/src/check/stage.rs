//! Where a call's arguments lie in a worker's memory, and what is found there after a run.

use opforge::DType;

use crate::isolate::{Failure, Piece, Worker};

/// What a region is divided into, in bytes: a multiple of every page's size.
const GRAIN: u64 = 65536;

/// What workspaces are aligned to, in bytes.
const WORKSPACE_ALIGNMENT: u64 = 64;

/// What memory beside an argument holds, on the side without a guard.
const CANARY: u8 = 0xc5;

/// At which end of arguments guards stand. At the other end, the rest of the page is looked at after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// What an argument is to the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    /// An input that was declared to change.
    Changed,
    Output,
    /// An output that is an input: this argument.
    Alias(usize),
    Workspace,
}

/// An argument of a prepared call.
#[derive(Debug, Clone)]
pub(super) struct Argument {
    /// With its kind, as in "output 1".
    pub name: String,
    pub role: Role,
    pub shape: Vec<usize>,
    pub dtype: DType,
    /// In bytes.
    pub size: usize,
    offset: u64,
}

/// A call prepared in a worker.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub instance: u64,
    pub arguments: Vec<Argument>,
}

/// What arguments held after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    /// Of each argument.
    pub contents: Vec<Vec<u8>>,
    /// The first byte beside an argument that changed: which argument, and the byte counted from its first.
    pub damage: Option<(usize, i64)>,
}

impl Argument {
    pub fn new(name: String, role: Role, shape: Vec<usize>, dtype: DType) -> Self {
        let size = shape.iter().product::<usize>() * dtype.size_in_bytes();
        Argument { name, role, shape, dtype, size, offset: 0 }
    }

    /// Whether the operator counts it among its outputs.
    pub fn is_output(&self) -> bool {
        matches!(self.role, Role::Output | Role::Alias(_))
    }

    /// Whether its elements are results.
    pub fn is_result(&self) -> bool {
        matches!(self.role, Role::Output | Role::Changed)
    }

    /// Bytes of the pages that it lies in.
    fn pages(&self) -> u64 {
        (self.size as u64).next_multiple_of(rustix::param::page_size() as u64)
    }

    /// Where it begins in its pages.
    fn shift(&self, side: Side) -> u64 {
        let slack = self.pages() - self.size as u64;
        match (side, self.role) {
            (Side::Start, _) => 0,
            (Side::End, Role::Workspace) => slack / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT,
            (Side::End, _) => slack,
        }
    }

    /// What it is in messages.
    pub fn describe(&self) -> String {
        match self.role {
            Role::Workspace => format!("{} ({} bytes)", self.name, self.size),
            _ => format!("{} ({}{:?})", self.name, self.dtype.long_name(), self.shape),
        }
    }
}

impl Stage {
    /// Gives each argument memory from `free` on, and says where it ends.
    pub fn place(&mut self, mut free: u64) -> u64 {
        for argument in &mut self.arguments {
            argument.offset = free;
            free += argument.pages().max(1).next_multiple_of(GRAIN);
        }
        free
    }

    /// The argument whose memory this one has.
    fn owner(&self, i: usize) -> usize {
        match self.arguments[i].role {
            Role::Alias(input) => input,
            _ => i,
        }
    }

    pub fn pieces(&self, side: Side) -> Vec<Piece> {
        let piece = |i: usize| {
            let argument = &self.arguments[self.owner(i)];
            let (offset, size, shift) = (argument.offset, argument.size as u64, argument.shift(side));
            Piece { offset, size, shift, writable: argument.role != Role::Input }
        };
        (0..self.arguments.len()).map(piece).collect()
    }

    /// Fills the arguments' memory: each with its bytes, and canaries beside it.
    pub fn fill(&self, worker: &Worker, side: Side, contents: impl Fn(usize) -> Vec<u8>) -> Result<(), Failure> {
        for (i, argument) in self.own() {
            let mut block = vec![CANARY; argument.pages() as usize];
            let start = argument.shift(side) as usize;
            block[start..start + argument.size].copy_from_slice(&contents(i));
            worker.write(&block, argument.offset)?;
        }
        Ok(())
    }

    /// What the arguments hold.
    pub fn look(&self, worker: &Worker, side: Side) -> Result<Seen, Failure> {
        let mut seen = Seen { contents: vec![Vec::new(); self.arguments.len()], damage: None };
        for (i, argument) in self.own() {
            let mut block = vec![0; argument.pages() as usize];
            worker.read(&mut block, argument.offset)?;
            let start = argument.shift(side) as usize;
            let inside = start..start + argument.size;
            // The byte nearest to the argument is where it began.
            let distance = |at: &usize| if *at < start { start - at } else { at - start };
            let damaged = (0..block.len()).filter(|at| !inside.contains(at) && block[*at] != CANARY);
            let first = damaged.min_by_key(distance).map(|at| (i, at as i64 - start as i64));
            seen.damage = seen.damage.or(first);
            seen.contents[i] = block[inside].to_vec();
        }
        Ok(seen)
    }

    /// Where the last bytes of arguments are that end at guards: argument, offset and length.
    pub fn tails(&self, bytes: usize) -> impl Iterator<Item = (usize, u64, usize)> {
        self.own().map(move |(i, argument)| {
            let (end, length) = (argument.shift(Side::End) + argument.size as u64, argument.size.min(bytes));
            (i, argument.offset + end - length as u64, length)
        })
    }

    /// The arguments with memory of their own.
    fn own(&self) -> impl Iterator<Item = (usize, &Argument)> {
        self.arguments.iter().enumerate().filter(|(i, _)| self.owner(*i) == *i)
    }
}
