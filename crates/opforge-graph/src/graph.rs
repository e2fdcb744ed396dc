//! What was traced.

use std::panic::Location;
use std::sync::Arc;

use opforge::operator::Operator;
use opforge::ops::pointwise::copy::Copy;
use opforge::{DType, Device, Error, Meta, Result, Tensor};
use opforge_runtime::{Generator, Storage};

use crate::packed::Packing;
use crate::world::Read;

/// Calls in order, and the memory that they read and write. A copy shares what is captured.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Where all tensors are.
    pub(crate) device: Device,
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Use>,
    pub(crate) outputs: Vec<Use>,
    /// What the host has read while the graph was traced.
    pub(crate) reads: Vec<Read>,
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
    /// A key of random numbers, drawn anew for each run from the generator.
    Key(Generator),
    /// A call makes it.
    Made,
    /// A weight as a product's kernel reads it. Graphs have none: programs do.
    Packed(Packing),
}

/// Memory that was there before the graph, which shares it; or, of a graph that was read, memory that is to be bound.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Its name, where it has one.
    pub(crate) name: Option<String>,
    /// How its elements are stored: the whole memory, contiguous.
    pub(crate) stored: Meta,
    pub(crate) tensor: Option<Tensor>,
}

impl Captured {
    /// A tensor's memory, all of it.
    pub(crate) fn new(tensor: &Tensor) -> Captured {
        Captured { name: None, stored: whole(tensor), tensor: Some(tensor.clone()) }
    }

    /// Memory that is not there yet.
    pub(crate) fn unbound(name: String, stored: Meta) -> Captured {
        Captured { name: Some(name), stored, tensor: None }
    }

    /// Its name, where it has one: [`Graph::with_names`] gives it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The dtype and shape under which it is stored: contiguous, all of the memory.
    pub fn stored(&self) -> &Meta {
        &self.stored
    }

    /// The tensor, as the first call that read it saw it, or as it was bound; none where it is still to be bound.
    pub fn tensor(&self) -> Option<&Tensor> {
        self.tensor.as_ref()
    }

    pub(crate) fn storage(&self) -> Result<&Arc<Storage>> {
        let name = self.name.as_deref().unwrap_or("captured");
        let unbound = || Error::value("graph", name.to_owned(), "not bound", "a graph whose weights are bound");
        self.tensor.as_ref().map(Tensor::storage).ok_or_else(unbound)
    }
}

/// All of a tensor's memory as one contiguous tensor: the tensor itself, if that is what it is, or bytes.
pub(crate) fn whole(tensor: &Tensor) -> Meta {
    let bytes = tensor.storage().nbytes();
    let is_all = tensor.is_contiguous() && tensor.elem_count() * tensor.dtype().size_in_bytes() == bytes;
    // Files of weights hold no c128.
    if is_all && tensor.dtype() != DType::C128 { tensor.meta().clone() } else { Meta::contiguous(DType::U8, bytes) }
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
    /// The place in the language of a front end, where it has one.
    pub caller: Option<Arc<str>>,
    /// What it reads.
    pub inputs: Vec<Use>,
    /// What it writes.
    pub outputs: Vec<Use>,
}

impl Clone for Node {
    fn clone(&self) -> Node {
        let Node { op, at, caller, inputs, outputs } = self;
        Node { op: op.boxed(), at, caller: caller.clone(), inputs: inputs.clone(), outputs: outputs.clone() }
    }
}

impl Graph {
    /// Where all tensors are.
    pub fn device(&self) -> Device {
        self.device
    }

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
    pub(crate) fn is_constant(&self, value: usize) -> bool {
        matches!(&self.values[value].origin, Origin::Captured(Captured { tensor: Some(tensor), .. }) if tensor.is_unshared())
    }

    /// The graph in which constants of the traced function that it changes or returns are copied first, so that each run begins with what the function
    /// begins with, and no two runs share memory. To be called when nothing else of the trace is there any more.
    pub(crate) fn with_own_constants(mut self) -> Graph {
        let mut copies = Vec::new();
        for value in 0..self.values.len() {
            let mut written = self.nodes.iter().flat_map(|node| &node.outputs).chain(&self.outputs);
            if !self.is_constant(value) || !written.any(|x| x.value == value) {
                continue;
            }
            let bytes = self.values[value].bytes;
            let copy = self.values.len();
            self.values.push(Value { bytes, origin: Origin::Made });
            let of = |value| Use { value, meta: Meta::contiguous(DType::U8, bytes) };
            let uses = self.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs));
            uses.chain(&mut self.outputs).filter(|x| x.value == value).for_each(|x| x.value = copy);
            let (inputs, outputs) = (vec![of(value)], vec![of(copy)]);
            copies.push(Node { op: Box::new(Copy), at: Location::caller(), caller: None, inputs, outputs });
        }
        self.nodes.splice(0..0, copies);
        self
    }

    /// All of a value as bytes.
    pub(crate) fn bytes(&self, value: usize) -> Use {
        Use { value, meta: Meta::contiguous(DType::U8, self.values[value].bytes) }
    }

    /// How many calls write each value.
    pub(crate) fn writes(&self) -> Vec<usize> {
        let mut writes = vec![0; self.values.len()];
        self.nodes.iter().flat_map(|node| &node.outputs).for_each(|output| writes[output.value] += 1);
        writes
    }

    /// For each value, whether one of these tensors is of it.
    pub(crate) fn marks<'a>(&self, uses: impl IntoIterator<Item = &'a Use>) -> Vec<bool> {
        let mut marks = vec![false; self.values.len()];
        uses.into_iter().for_each(|x| marks[x.value] = true);
        marks
    }

    /// For each value, whether a call reads it or it is a result.
    pub(crate) fn read(&self) -> Vec<bool> {
        self.marks(self.nodes.iter().flat_map(|node| &node.inputs).chain(&self.outputs))
    }

    /// For each value the number of the last call that reads it: beyond all calls for results, none for what nobody reads.
    pub(crate) fn last_reads(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.values.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|input| last[input.value] = Some(number));
        }
        self.outputs.iter().for_each(|output| last[output.value] = Some(self.nodes.len()));
        last
    }

    /// Lets go of captured memory that no call uses.
    pub(crate) fn forget_unused(&mut self) {
        let calls = self.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        let used = self.marks(calls.chain(&self.inputs).chain(&self.outputs));
        let unused = self.values.iter_mut().zip(used).filter(|(_, used)| !used);
        unused.for_each(|(value, _)| value.origin = Origin::Made);
    }

    /// Whether a value is memory that the graph makes for itself.
    pub(crate) fn is_made(&self, value: usize) -> bool {
        matches!(self.values[value].origin, Origin::Made)
    }
}
