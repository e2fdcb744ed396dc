//! Calls of a graph that run as one kernel: all of them, unless functions stand between them.

use std::sync::Arc;

use opforge::dispatch::{arranged, dispatch, dispatch_into};
use opforge::{DType, Device, Error, Layout, Result, Tensor};
use opforge_runtime::sequence::Stopwatch;
use opforge_runtime::{Generator, Prepack, Storage};

use crate::graph::{Graph, Origin, Use};
use crate::inside::{Passing, Stage};
use crate::kernel::Carried;
use crate::program::Options;
use crate::run::{GRAPH, Run};

/// A kernel, and the memory that it is given.
pub(crate) struct Segment {
    operator: Run,
    device: Device,
    inputs: Vec<Use>,
    outputs: Vec<Use>,
    /// What the kernel reads or changes that is not its own, in its order.
    given: Vec<Given>,
    /// What it changes, by numbers of `given`; those are its last outputs.
    changed: Vec<usize>,
    /// The values of its other outputs.
    made: Vec<usize>,
    pub stages: Vec<Stage>,
    pub passing: Vec<Passing>,
    /// The bytes that pass between its steps in memory.
    pub memory: usize,
    pub watch: Arc<Stopwatch>,
}

/// Memory that a run is given.
enum Given {
    Input { value: usize, number: usize, bytes: usize },
    Captured { value: usize, bytes: Tensor },
    Key { value: usize, generator: Generator },
    Packed { value: usize, weight: Tensor, prepack: Prepack },
}

impl Given {
    fn value(&self) -> usize {
        match self {
            Given::Input { value, .. } | Given::Captured { value, .. } => *value,
            Given::Key { value, .. } | Given::Packed { value, .. } => *value,
        }
    }
}

impl Segment {
    /// The kernel of all calls of a graph, which it changes where weights are packed.
    ///
    /// # Errors
    /// What operators refuse of these tensors.
    pub fn new(graph: &mut Graph, options: Options) -> Result<Segment> {
        let Carried { kernel, given, made, changed, stages, passing, memory, watch } = graph.carried(options)?;
        let bytes = |value: &usize| graph.values[*value].bytes;
        let results = made.iter().map(bytes).chain(changed.iter().map(|&number| bytes(&given[number])));
        let read = given.iter().map(bytes).collect();
        let operator = Run::new(graph.device, kernel, read, results.collect(), changed.clone());
        let given = given.into_iter().map(|value| graph.given(value)).collect::<Result<Vec<Given>>>()?;
        let (device, inputs, outputs) = (graph.device, graph.inputs.clone(), graph.outputs.clone());
        Ok(Segment { operator, device, inputs, outputs, given, changed, made, stages, passing, memory, watch })
    }

    /// Computes the results for arguments that have the layouts of the graph's inputs. Nothing is recorded.
    ///
    /// # Errors
    /// What kernels find in elements, or memory that cannot be had: the error names the call.
    pub fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        let given = self.given.iter().map(|given| self.bytes_of(given, arguments)).collect::<Result<Vec<Tensor>>>()?;
        let made = self.launch(&given.iter().collect::<Vec<&Tensor>>())?;
        self.outputs.iter().map(|output| self.result(output, &given, &made, arguments)).collect()
    }

    fn bytes_of(&self, given: &Given, arguments: &[&Tensor]) -> Result<Tensor> {
        match given {
            Given::Input { number, bytes, .. } => {
                flat(arguments[*number].storage(), start_of(arguments[*number]), *bytes)
            }
            Given::Captured { bytes, .. } => Ok(bytes.clone()),
            Given::Packed { weight, prepack, .. } => arranged(weight, prepack),
            Given::Key { generator, .. } => next_key(generator, self.device),
        }
    }

    /// Runs the kernel; gives the tensors of bytes that it made.
    fn launch(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        if self.operator.outputs().is_empty() {
            // All results are arguments, or were there before.
            return Ok(Vec::new());
        }
        if self.changed.is_empty() {
            return Ok(dispatch(&self.operator, inputs)?.into_iter().collect());
        }
        let sizes = &self.operator.outputs()[..self.made.len()];
        let made = sizes.iter().map(|&bytes| flat(&Storage::new(self.device, bytes)?, 0, bytes));
        let made = made.collect::<Result<Vec<Tensor>>>()?;
        let changed = self.changed.iter().map(|&i| inputs[i]);
        dispatch_into(&self.operator, inputs, &made.iter().chain(changed).collect::<Vec<_>>())?;
        Ok(made)
    }

    fn result(&self, output: &Use, given: &[Tensor], made: &[Tensor], arguments: &[&Tensor]) -> Result<Tensor> {
        if let Some(i) = self.made.iter().position(|&value| value == output.value) {
            return seen(made[i].storage(), 0, output);
        }
        if let Some(number) = self.inputs.iter().position(|input| input.value == output.value) {
            return seen(arguments[number].storage(), start_of(arguments[number]), output);
        }
        let captured = self.given.iter().position(|given| given.value() == output.value);
        let storage = captured.map(|i| given[i].storage()).ok_or_else(|| Error::msg("a result that nothing makes"))?;
        seen(storage, 0, output)
    }
}

impl Graph {
    /// What a run is given as this value, which it does not make.
    fn given(&self, value: usize) -> Result<Given> {
        let bytes = self.values[value].bytes;
        Ok(match &self.values[value].origin {
            Origin::Input(number) => Given::Input { value, number: *number, bytes },
            Origin::Captured(captured) => Given::Captured { value, bytes: flat(captured.storage()?, 0, bytes)? },
            Origin::Key(generator) => Given::Key { value, generator: generator.clone() },
            Origin::Packed(packing) => {
                let Origin::Captured(captured) = &self.values[packing.weight.value].origin else {
                    return Err(Error::msg("only what was captured is packed"));
                };
                let (start, all) = (packing.weight.byte_offset(), self.values[packing.weight.value].bytes);
                let weight = flat(captured.storage()?, start, all - start)?;
                Given::Packed { value, weight, prepack: packing.prepack.clone() }
            }
            Origin::Made => return Err(Error::msg("a program is not given what it makes")),
        })
    }
}

/// Bytes of a storage, as a tensor of bytes.
pub(crate) fn flat(storage: &Arc<Storage>, start: usize, bytes: usize) -> Result<Tensor> {
    Tensor::over_storage(storage.clone(), DType::U8, Layout::contiguous_with_offset(bytes, start))
}

/// Where a tensor's elements begin in its storage, in bytes.
pub(crate) fn start_of(tensor: &Tensor) -> usize {
    tensor.layout().start_offset() * tensor.dtype().size_in_bytes()
}

/// A tensor in a value's memory, which begins so many bytes into a storage.
pub(crate) fn seen(storage: &Arc<Storage>, start: usize, x: &Use) -> Result<Tensor> {
    let layout = match start {
        0 => x.meta.layout.clone(),
        _ => {
            let start = start / x.meta.dtype.size_in_bytes() + x.meta.layout.start_offset();
            Layout::new(x.meta.shape().clone(), x.meta.layout.stride().into(), start, GRAPH)?
        }
    };
    Tensor::over_storage(storage.clone(), x.meta.dtype, layout)
}

/// A key of random numbers, as bytes.
pub(crate) fn next_key(generator: &Generator, device: Device) -> Result<Tensor> {
    let key = Tensor::from_vec(generator.next_key().to_vec(), 2, &device)?;
    flat(key.storage(), 0, key.storage().nbytes())
}
