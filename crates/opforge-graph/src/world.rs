//! What a traced function takes of the world besides what its calls read: elements that the host reads, which must stay the same, gradients that tensors
//! keep, and generators of random numbers.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use opforge::tracer::{Tracer, untraced};
use opforge::{Error, Result, Tensor, TensorId};
use opforge_runtime::{Generator, Storage};

use crate::graph::Use;
use crate::kept::Taken;
use crate::trace::{Lazy, Recording, with_recording};

/// What is read of elements that are there when a graph runs.
const UNKNOWN: &str = "a graph is being traced: elements are there when it runs, and cannot be read before";

/// What was taken so far.
#[derive(Default)]
pub(crate) struct World {
    pub reads: Vec<Read>,
    pub grads: Vec<Taken>,
    taken: HashSet<TensorId>,
    /// Where gradients that tensors keep are further arguments: these.
    pub further: Option<Vec<Use>>,
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
        self.grads.iter().for_each(Taken::give_back);
    }

    /// Takes what was noted of gradients so far for nothing. From now on those that tensors keep are further arguments.
    pub fn follow_grads(&mut self) {
        self.grads.clear();
        self.taken.clear();
        self.further = Some(Vec::new());
    }
}

impl Recording {
    /// What stands for a gradient that a tensor keeps, as a further argument. None has a history, which is not the graph's.
    fn stand_in(&mut self, grad: &Tensor) -> Option<Tensor> {
        if grad.requires_grad() || *grad.device() != self.device {
            return None;
        }
        let number = self.arguments + self.world.further.as_ref()?.len();
        let stand_in = self.argument(number, grad.meta()).ok()?;
        let used = self.used(&stand_in);
        self.world.further.as_mut()?.push(used);
        Some(stand_in)
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

    fn takes_grad(&self, tensor: &Tensor) {
        if !with_recording(|recording| Ok(recording.world.taken.insert(tensor.id()))).is_ok_and(|is_first| is_first) {
            return;
        }
        let found = untraced(|| tensor.grad());
        let stand_in = with_recording(|recording| {
            let stand_in = found.as_ref().and_then(|grad| recording.stand_in(grad));
            recording.world.grads.push(Taken { of: tensor.clone(), found, stand_in: stand_in.clone() });
            Ok(stand_in)
        });
        if let Ok(Some(stand_in)) = stand_in {
            // It is as what it stands for.
            let _ = untraced(|| tensor.set_grad(Some(&stand_in)));
        }
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
