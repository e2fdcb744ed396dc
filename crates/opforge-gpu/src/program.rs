//! What is run for a call: launches of kernels, one after the other.

use std::sync::Arc;

use opforge_core::{DType, Error, Result};

use crate::code::Code;
use crate::kernel::Kernel;
use crate::lower::Target;

/// A piece of memory that a launch is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The call's input of this number.
    Input(usize),
    /// The call's output of this number.
    Output(usize),
    /// Memory of the program's own, of this number.
    Scratch(usize),
}

/// A launch of a kernel.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// Its buffers.
    pub places: Vec<Place>,
    /// Its parameters.
    pub parameters: Vec<u32>,
    /// How many indices its threads, or groups, share.
    pub count: usize,
    /// Whether it copies its first buffer to its second, which lies alike: nothing is to be done where these are the same memory.
    pub copies: bool,
}

/// What a kernel may find in elements that has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An element without a result: the argument, and what is accepted.
    Value(&'static str, &'static str),
    /// An index into an axis of this length.
    Index(usize),
    /// An index into an axis of this length, where negative ones count from the end.
    FromEnd(usize),
}

impl Fault {
    /// The error of an operator for what was found.
    pub fn error(&self, op: &'static str, found: i64) -> Error {
        match *self {
            Fault::Value(argument, accepted) => Error::value(op, argument, "an element without a result", accepted),
            Fault::Index(0) | Fault::FromEnd(0) => Error::index(op, "index", found, "none, for the axis is empty"),
            Fault::Index(size) => match usize::try_from(found) {
                Ok(index) => Error::InvalidIndex { op, index, size },
                Err(_) => Error::index(op, "index", found, format!("0 to {}", size - 1)),
            },
            Fault::FromEnd(size) => Error::index(op, "index", found, format!("-{size} to {}", size - 1)),
        }
    }
}

/// Memory of a program's own.
#[derive(Debug, Clone)]
pub enum Memory {
    /// So many bytes, which a launch writes before another reads them.
    Space(usize),
    /// These bytes, which are only read.
    Table(Vec<u8>),
}

/// Launches that together compute a call's outputs.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The launches, in order.
    pub launches: Vec<Launch>,
    /// Its own memory, by number.
    pub scratch: Vec<Memory>,
    /// What a launch may fail for: its status is the number of a fault, counted from 1.
    pub faults: Vec<Fault>,
}

impl Program {
    /// Adds a launch of the kernel that `write` writes.
    ///
    /// # Errors
    /// Those of `write`.
    pub(crate) fn launch(&mut self, target: &Target, write: impl FnOnce(&Code) -> Result<()>) -> Result<()> {
        let code = Code::new(*target, self.faults.len());
        write(&code)?;
        let (launch, faults) = code.finish();
        self.launches.push(launch);
        self.faults.extend(faults);
        Ok(())
    }

    /// Memory of its own for so many elements.
    pub(crate) fn scratch(&mut self, dtype: DType, len: usize) -> Place {
        self.own(Memory::Space(len * dtype.size_in_bytes()))
    }

    /// Memory of its own with these numbers, of f32 or f64.
    pub(crate) fn table(&mut self, dtype: DType, numbers: &[f64]) -> Place {
        let bytes = |&x: &f64| match dtype {
            DType::F64 => x.to_ne_bytes().to_vec(),
            _ => (x as f32).to_ne_bytes().to_vec(),
        };
        self.own(Memory::Table(numbers.iter().flat_map(bytes).collect()))
    }

    /// Memory of its own with these indices.
    pub(crate) fn indices(&mut self, indices: &[u32]) -> Place {
        self.own(Memory::Table(indices.iter().flat_map(|i| i.to_ne_bytes()).collect()))
    }

    fn own(&mut self, memory: Memory) -> Place {
        self.scratch.push(memory);
        Place::Scratch(self.scratch.len() - 1)
    }

    /// The error that a launch's status tells: the number of a fault, and the two halves of what was found.
    ///
    /// # Errors
    /// That one; none for 0.
    pub fn check(&self, op: &'static str, status: [u32; 3]) -> Result<()> {
        let Some(fault) = (status[0] as usize).checked_sub(1) else { return Ok(()) };
        let found = (u64::from(status[2]) << 32 | u64::from(status[1])) as i64;
        match self.faults.get(fault) {
            Some(fault) => Err(fault.error(op, found)),
            None => Err(Error::Kernel { op: op.into(), message: format!("status {}", status[0]) }),
        }
    }
}
