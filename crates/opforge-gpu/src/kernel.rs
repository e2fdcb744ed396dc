//! A kernel as a value: typed operations, loads and stores, loops that threads share.

use std::collections::BTreeMap;

use opforge_core::DType;
use opforge_trace::Op;

/// The dtype of indices and sizes.
pub const INDEX: DType = DType::U32;

/// Threads of a group, which share memory and wait for one another.
pub const LANES: usize = 256;

/// A value's number in its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// An operation on its operands; constants too. Never [`Op::Input`].
    Compute(Op),
    /// The launch's parameter of this number.
    Parameter(usize),
    /// What the launch's parameters from this number on are the bits of: one, or two for 8 bytes, the lower ones first.
    Number(usize),
    /// The element of a buffer at the operand, widened as it is [computed in](DType::compute).
    Load(usize),
    /// The element of this number of a [pack](Statement::LoadPack) that begins at the operand.
    OfPack(usize),
    /// What a variable holds.
    Read(usize),
    /// The element of an array of the group at the operand.
    LoadShared(usize),
    /// The upper word of the product of two words, of u32.
    HighProduct,
    /// The operand, of which compilers may not know how it was made.
    Kept,
    /// The operand as it is when it was stored in this dtype and read again.
    Rounded(DType),
    /// The index of the loop that has the value.
    Index,
}

/// A value of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// Its dtype: bool, an integer, f32 or f64.
    pub dtype: DType,
    /// Where it comes from.
    pub source: Source,
    /// What it is made of.
    pub operands: Vec<Id>,
}

/// Statements, in order.
pub type Block = Vec<Statement>;

/// What a kernel does, step by step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// The value is there from now on.
    Let(Id),
    /// A variable, once in a kernel, begins with a value.
    Declare(usize, Id),
    /// A variable changes. Those [of lanes](Variable::of_lanes) need no declaration.
    Set(usize, Id),
    /// `buffer[index] = value`, rounded as the buffer stores it.
    Store {
        /// The buffer.
        buffer: usize,
        /// Where.
        index: Id,
        /// What.
        value: Id,
    },
    /// The elements of a buffer from an index on, which are there from now on: as many as there are values, and 16 bytes at most.
    LoadPack {
        /// The buffer.
        buffer: usize,
        /// Where the first one is.
        index: Id,
        /// The elements, as they are computed in.
        values: Vec<Id>,
    },
    /// As [`Statement::Store`], of elements that lie side by side from an index on.
    StorePack {
        /// The buffer.
        buffer: usize,
        /// Where the first one is.
        index: Id,
        /// What.
        values: Vec<Id>,
    },
    /// As [`Statement::Store`], to an array of the group.
    StoreShared {
        /// The array.
        array: usize,
        /// Where.
        index: Id,
        /// What.
        value: Id,
    },
    /// The body for every index below the count, in any order, shared by all threads; on the outermost level only.
    Each(Loop),
    /// The body for every index below the count, each by one group; on the outermost level only.
    Groups(Loop),
    /// Within a group: the body for every lane below the count, at most [`LANES`], and then the lanes wait for one another.
    Lanes(Loop),
    /// Within a group: the body for every lane, without waiting: what it changes, other lanes do not look at.
    Alone(Loop),
    /// Within a group: every lane's variable `to` becomes the `from` of the lane whose number differs in one bit, `apart`: 1, 2, 4, 8 or 16.
    Exchange {
        /// A variable of lanes.
        to: usize,
        /// Another, of the same dtype.
        from: usize,
        /// The bit.
        apart: usize,
    },
    /// The body for every index below the count, in order.
    Repeat(Loop),
    /// The body again and again.
    Forever(Block),
    /// Leaves the innermost loop, where the condition is true.
    Leave(Id),
    /// One of two blocks.
    When {
        /// Which.
        condition: Id,
        /// Where it is true.
        then: Block,
        /// Where it is false.
        otherwise: Block,
    },
    /// The launch fails where the condition is true, for this value, an i64 or u32.
    Fail {
        /// Where.
        condition: Id,
        /// The number of the fault, from 1.
        fault: u32,
        /// What was found.
        found: Id,
    },
}

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The index's value.
    pub index: Id,
    /// How many.
    pub count: Id,
    /// What is done.
    pub body: Block,
}

/// A buffer of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// The dtype of its elements in memory: a real one.
    pub dtype: DType,
    /// Whether the kernel writes there.
    pub written: bool,
}

/// A variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its dtype.
    pub dtype: DType,
    /// Whether each lane of a group has its own, which lasts from one [`Statement::Lanes`] to the next.
    pub of_lanes: bool,
}

/// An array that the threads of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shared {
    /// The dtype of its elements, as they are computed in.
    pub dtype: DType,
    /// How many.
    pub len: usize,
}

/// A kernel. Sizes and strides are parameters, so that tensors of many shapes have equal kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The buffers that a launch gives, in order.
    pub buffers: Vec<Buffer>,
    /// The number of parameters of a launch.
    pub parameters: usize,
    /// Variables.
    pub variables: Vec<Variable>,
    /// Arrays of a group.
    pub shared: Vec<Shared>,
    /// Every value, by number.
    pub values: Vec<Node>,
    /// What is done.
    pub body: Block,
}

impl Kernel {
    /// The value of this number.
    pub fn value(&self, id: Id) -> &Node {
        &self.values[id.0 as usize]
    }

    /// Whether it is carried out by groups.
    pub fn is_of_groups(&self) -> bool {
        self.body.iter().any(|statement| matches!(statement, Statement::Groups(_)))
    }

    /// Whether a launch may fail for what it finds.
    pub fn can_fail(&self) -> bool {
        self.statements().iter().any(|statement| matches!(statement, Statement::Fail { .. }))
    }

    /// The buffers of which packs are loaded or stored, by number, and the elements of a pack. Each begins a whole number of packs after the buffer does.
    pub fn packed(&self) -> BTreeMap<usize, usize> {
        let pack = |statement: &&Statement| match statement {
            Statement::LoadPack { buffer, values, .. } | Statement::StorePack { buffer, values, .. } => {
                Some((*buffer, values.len()))
            }
            _ => None,
        };
        self.statements().iter().filter_map(pack).collect()
    }

    /// All statements, those within others too.
    fn statements(&self) -> Vec<&Statement> {
        fn add<'k>(block: &'k Block, all: &mut Vec<&'k Statement>) {
            for statement in block {
                all.push(statement);
                match statement {
                    Statement::Each(of)
                    | Statement::Groups(of)
                    | Statement::Lanes(of)
                    | Statement::Alone(of)
                    | Statement::Repeat(of) => add(&of.body, all),
                    Statement::Forever(body) => add(body, all),
                    Statement::When { then, otherwise, .. } => {
                        add(then, all);
                        add(otherwise, all);
                    }
                    _ => {}
                }
            }
        }
        let mut all = Vec::new();
        add(&self.body, &mut all);
        all
    }

    /// Whether a value, a buffer, a variable or an array has such a dtype.
    pub fn uses(&self, which: impl Fn(DType) -> bool) -> bool {
        let values = self.values.iter().map(|node| node.dtype);
        let buffers = self.buffers.iter().map(|buffer| buffer.dtype);
        values.chain(buffers).chain(self.variables.iter().map(|variable| variable.dtype)).any(which)
    }
}
