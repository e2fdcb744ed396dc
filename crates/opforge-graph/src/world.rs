//! What a traced function takes of the world as it is besides what its calls read: elements that the host reads, gradients that tensors keep, and
//! generators of random numbers. What was traced is right as long as these are the same.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use opforge::tracer::Tracer;
use opforge::{Error, Result, Tensor, TensorId};
use opforge_runtime::{Generator, Storage};

use crate::trace::{Lazy, with_recording};

/// What is read of elements that are there when a graph runs.
const UNKNOWN: &str = "a graph is being traced: elements are there when it runs, and cannot be read before";

/// What was taken so far.
#[derive(Default)]
pub(crate) struct World {
    pub reads: Vec<Read>,
    pub grads: Vec<(Tensor, Option<Tensor>)>,
    taken: HashSet<TensorId>,
    keys: Vec<(Tensor, Generator)>,
    /// Generators, with their states before the first draw and how often they drew.
    draws: Vec<(Generator, [u64; 2], u64)>,
}

/// Memory whose bytes the host has read, and its version then. Memory that is gone was the function's own.
#[derive(Debug, Clone)]
pub(crate) struct Read(Weak<Storage>, u64);

impl Read {
    /// Whether it was the function's own.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Whether it holds what it held.
    pub fn is_unchanged(&self) -> bool {
        self.0.upgrade().is_none_or(|storage| storage.version() == self.1)
    }
}

/// The gradient that a tensor kept when it was taken.
pub(crate) struct Grad {
    grad: Option<Weak<Storage>>,
}

impl Grad {
    pub fn of(grad: Option<&Tensor>) -> Grad {
        Grad { grad: grad.map(|grad| Arc::downgrade(grad.storage())) }
    }

    /// Whether a tensor keeps the same.
    pub fn is_kept_by(&self, tensor: &Tensor) -> bool {
        match (&self.grad, tensor.grad()) {
            (None, None) => true,
            (Some(was), Some(is)) => std::ptr::eq(was.as_ptr(), Arc::as_ptr(is.storage())) && was.strong_count() > 0,
            _ => false,
        }
    }
}

impl World {
    /// The generator that drew a key, which is then each run's own.
    pub fn generator_of(&self, key: &Tensor) -> Option<Generator> {
        self.keys.iter().find(|(known, _)| known.shares_storage(key)).map(|(_, generator)| generator.clone())
    }

    /// Has the first run draw what the trace has only seemed to draw, unless somebody else has drawn meanwhile.
    pub fn give_back_draws(&self) {
        for (generator, [seed, begun], count) in &self.draws {
            if generator.state() == [*seed, begun + count] {
                generator.set_state([*seed, *begun]);
            }
        }
    }

    /// Gives tensors back the gradients that they kept.
    pub fn give_back_grads(&self) {
        for (tensor, grad) in &self.grads {
            // It has had this one before.
            let _ = tensor.set_grad(grad.as_ref());
        }
    }

    /// Takes what was noted of gradients so far for nothing.
    pub fn forget_grads(&mut self) {
        self.grads.clear();
        self.taken.clear();
    }
}

impl Tracer for Lazy {
    /// What is captured may be read as long as no call of the trace has changed it and nobody changes it unseen; what is traced has no elements yet, as the VM
    /// says.
    fn reads(&self, tensor: &Tensor, exposes: bool) -> Result<()> {
        with_recording(|recording| {
            let storage = tensor.storage();
            let value = recording.number(storage);
            if value.is_some_and(|value| !recording.is_captured(value)) {
                return Ok(());
            }
            let is_written = |value| recording.nodes.iter().flat_map(|node| &node.outputs).any(|x| x.value == value);
            if exposes || storage.is_exposed() || value.is_some_and(is_written) {
                return Err(Error::msg(UNKNOWN));
            }
            recording.world.reads.push(Read(Arc::downgrade(storage), storage.version()));
            Ok(())
        })
    }

    fn takes_grad(&self, tensor: &Tensor, grad: Option<&Tensor>) {
        let _ = with_recording(|recording| {
            if recording.world.taken.insert(tensor.id()) {
                recording.world.grads.push((tensor.clone(), grad.cloned()));
            }
            Ok(())
        });
    }

    fn draws(&self, generator: &Generator, key: &Tensor) {
        let _ = with_recording(|recording| {
            let World { keys, draws, .. } = &mut recording.world;
            keys.push((key.clone(), generator.clone()));
            match draws.iter_mut().find(|(known, ..)| known.is(generator)) {
                Some((_, _, count)) => *count += 1,
                None => {
                    let [seed, next] = generator.state();
                    draws.push((generator.clone(), [seed, next - 1], 1));
                }
            }
            Ok(())
        });
    }
}
