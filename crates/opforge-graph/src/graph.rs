//! What was traced.

use std::fmt::{self, Display};
use std::panic::Location;
use std::sync::Arc;

use opforge::operator::Operator;
use opforge::ops::pointwise::copy::Copy;
use opforge::{DType, Meta, Tensor};
use opforge_runtime::Storage;

/// Calls in order, and the memory that they read and write.
pub struct Graph {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Use>,
    pub(crate) outputs: Vec<Use>,
}

/// A piece of memory: the storage of tensors.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its size.
    pub bytes: usize,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where memory comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// It is that of an argument.
    Input(usize),
    /// It was there before: a parameter's, a constant's.
    Captured(Captured),
    /// A key of random numbers, drawn anew for each run from the process's generator.
    Key,
    /// A call makes it.
    Made,
}

/// A tensor that was there before the graph, which shares its memory.
#[derive(Debug, Clone)]
pub struct Captured(pub(crate) Tensor);

impl Captured {
    /// The tensor, as the first call that read it saw it.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }

    pub(crate) fn storage(&self) -> &Arc<Storage> {
        self.0.storage()
    }
}

/// A tensor: part of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Use {
    /// The number of the value.
    pub value: usize,
    /// Element type and layout in the value.
    pub meta: Meta,
}

impl Use {
    /// Where the tensor begins, in bytes.
    pub fn byte_offset(&self) -> usize {
        self.meta.layout.start_offset() * self.meta.dtype.size_in_bytes()
    }
}

/// A call.
#[derive(Debug)]
pub struct Node {
    /// The operator.
    pub op: Box<dyn Operator>,
    /// Where it was called.
    pub at: &'static Location<'static>,
    /// What it reads.
    pub inputs: Vec<Use>,
    /// What it writes.
    pub outputs: Vec<Use>,
}

impl Graph {
    /// The values, by their numbers.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The calls, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The arguments.
    pub fn inputs(&self) -> &[Use] {
        &self.inputs
    }

    /// The results.
    pub fn outputs(&self) -> &[Use] {
        &self.outputs
    }

    /// Whether a value was made by the traced function from numbers of its own: nobody else holds it.
    fn is_constant(&self, value: usize) -> bool {
        matches!(&self.values[value].origin, Origin::Captured(captured) if captured.0.is_unshared())
    }

    /// The graph in which constants of the traced function that it changes or returns are copied first, so that each run begins with what the function
    /// begins with, and no two runs share memory. To be called when nothing else of the trace is there any more.
    pub(crate) fn with_own_constants(mut self) -> Graph {
        let mut copies = Vec::new();
        for value in 0..self.values.len() {
            let is_of = |x: &Use| x.value == value;
            let changes = self.nodes.iter().flat_map(|node| &node.outputs).chain(&self.outputs).any(is_of);
            if !changes || !self.is_constant(value) {
                continue;
            }
            let bytes = self.values[value].bytes;
            let copy = self.values.len();
            self.values.push(Value { bytes, origin: Origin::Made });
            let of = |value| Use { value, meta: Meta::contiguous(DType::U8, bytes) };
            let uses = self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
            uses.chain(&mut self.outputs).filter(|x| x.value == value).for_each(|x| x.value = copy);
            let (inputs, outputs) = (vec![of(value)], vec![of(copy)]);
            copies.push(Node { op: Box::new(Copy), at: Location::caller(), inputs, outputs });
        }
        self.nodes.splice(0..0, copies);
        self
    }

    /// Whether a value is memory that the graph makes for itself.
    pub(crate) fn is_made(&self, value: usize) -> bool {
        matches!(self.values[value].origin, Origin::Made)
    }
}

impl Display for Graph {
    /// A line a call: `%3 f32[2, 4] = add(%0 f32[2, 4], %1 f32[4])`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "graph({}) {{", list(&self.inputs))?;
        for (i, value) in self.values.iter().enumerate() {
            match &value.origin {
                Origin::Captured(_) => writeln!(f, "  %{i} = captured {} bytes", value.bytes)?,
                Origin::Key => writeln!(f, "  %{i} = key")?,
                Origin::Input(_) | Origin::Made => {}
            }
        }
        for node in &self.nodes {
            writeln!(f, "  {} = {:?}({})", list(&node.outputs), node.op, list(&node.inputs))?;
        }
        writeln!(f, "  return {}\n}}", list(&self.outputs))
    }
}

fn list(uses: &[Use]) -> String {
    uses.iter().map(Use::to_string).collect::<Vec<_>>().join(", ")
}

impl Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = &self.meta.layout;
        write!(f, "%{} {}{:?}", self.value, self.meta.dtype, layout.dims())?;
        if !layout.is_contiguous() {
            write!(f, " stride {:?}", layout.stride())?;
        }
        match layout.start_offset() {
            0 => Ok(()),
            start => write!(f, " from {start}"),
        }
    }
}
