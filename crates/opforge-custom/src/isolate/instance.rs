//! An operator initialised in a worker.

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::alloc::check_request;

use super::layout::Layout;
use super::runner::{Shared, State, Ticket};
use super::worker::{Failure, Observe, Signature, Worker};
use crate::abi::{Outcome, Variant, lengths};
use crate::attribute::Attributes;
use crate::library::Place;
use crate::runner::{Prepared, Queue, Setup};
use crate::workspaces::Workspaces;

/// An operator initialised in a worker; again, if the worker has been replaced.
pub(super) struct Instance {
    shared: Arc<Shared>,
    place: Place,
    variant: Variant,
    attributes: Arc<Attributes>,
    inputs: Vec<Meta>,
    outputs: Vec<Meta>,
    aliases: Vec<Option<usize>>,
    ticket: Option<Ticket>,
    layout: Layout,
}

impl Instance {
    pub fn new(shared: Arc<Shared>, variant: Variant, setup: &Setup<'_>) -> Self {
        let owned = |metas: &[&Meta]| metas.iter().map(|&meta| meta.clone()).collect();
        Instance {
            shared,
            place: setup.place.clone(),
            variant,
            attributes: setup.attributes.clone(),
            inputs: owned(setup.inputs),
            outputs: owned(setup.outputs),
            aliases: setup.aliases.to_vec(),
            ticket: None,
            layout: Layout::default(),
        }
    }

    /// Sees to it that the worker has it.
    pub fn ready(&mut self, state: &mut State) -> Result<Ticket> {
        match self.ticket {
            Some(ticket) if state.holds(ticket) => Ok(ticket),
            _ => self.prepare(state),
        }
    }

    fn prepare(&mut self, state: &mut State) -> Result<Ticket> {
        let metas = self.inputs.iter().chain(&self.outputs);
        let shapes: Vec<(Vec<i64>, DType)> = metas.map(|meta| (lengths(meta.dims()), meta.dtype)).collect();
        let signature = Signature {
            variant: self.variant,
            attributes: &self.attributes,
            arguments: shapes.iter().map(|(shape, dtype)| (&shape[..], *dtype)).collect(),
            outputs: Some(self.outputs.len()),
        };
        let ticket = state.ticket();
        let sizes = state.ask(|worker| worker.prepare(ticket.instance, &signature));
        let sizes = sizes.map_err(|failure| failure.error(&self.place, "Init", &|_| None))?;
        let placed = self.lay_out(&sizes).and_then(|()| {
            let mapped = state.ask(|worker| worker.map(ticket.instance, &self.layout.pieces));
            mapped.map_err(|failure| self.error(&failure))
        });
        match placed {
            Ok(()) => Ok(*self.ticket.insert(ticket)),
            Err(error) => {
                self.shared.give_up(ticket);
                Err(error)
            }
        }
    }

    fn lay_out(&mut self, workspaces: &[usize]) -> Result<()> {
        let workspaces = Workspaces::new(&self.place, workspaces)?;
        let setup = Setup {
            place: &self.place,
            attributes: &self.attributes,
            inputs: &self.inputs.iter().collect::<Vec<_>>(),
            outputs: &self.outputs.iter().collect::<Vec<_>>(),
            aliases: &self.aliases,
        };
        self.layout = Layout::new(&setup, &workspaces);
        check_request(usize::try_from(self.layout.end()).unwrap_or(usize::MAX))
    }

    fn error(&self, failure: &Failure) -> Error {
        failure.error(&self.place, "", &|argument| self.layout.name(argument))
    }

    /// Runs it once, tensors sent there and back.
    ///
    /// # Safety
    /// As for [`Prepared::run`].
    unsafe fn exchange(
        &self,
        worker: &mut Worker,
        ticket: Ticket,
        is_marked: bool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), Failure> {
        let pieces = &self.layout.pieces;
        for (&input, piece) in inputs.iter().zip(pieces).filter(|(_, piece)| piece.size > 0) {
            // SAFETY: an input has as many initialised bytes as its piece, which nobody writes meanwhile.
            worker.write(unsafe { std::slice::from_raw_parts(input, piece.size as usize) }, piece.first())?;
        }
        if !is_marked {
            self.layout.mark(worker)?;
        }
        let runs = worker.run(&[ticket.instance], 1, Observe::Nothing)?;
        if let Some(failed) = runs.outcomes.into_iter().find(|outcome| *outcome != Outcome::Success) {
            return Err(Failure::Function(failed));
        }
        self.layout.check_marks(worker)?;
        for (argument, piece) in self.layout.written().filter(|(_, piece)| piece.size > 0) {
            // An input that is changed is an output for the caller, at the same address.
            let to = inputs.get(argument).map_or_else(|| outputs[argument - inputs.len()], |input| input.cast_mut());
            // SAFETY: an output has as many bytes as its piece, nobody else's now, initialised at least by the allocator.
            worker.read(unsafe { std::slice::from_raw_parts_mut(to, piece.size as usize) }, piece.first())?;
        }
        Ok(())
    }
}

impl Prepared for Instance {
    unsafe fn run(&mut self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (shared, place) = (self.shared.clone(), self.place.clone());
        shared.with(&place, |state| {
            let ticket = self.ready(state)?;
            let is_marked = state.last.take() == Some(ticket);
            // SAFETY: the tensors are those of `run`, for which the instance was made.
            let done = state.ask(|worker| unsafe { self.exchange(worker, ticket, is_marked, inputs, outputs) });
            done.map_err(|failure| self.error(&failure))?;
            state.last = Some(ticket);
            Ok(())
        })
    }

    unsafe fn run_on(&mut self, _: &Queue, _: &[*const u8], _: &[*mut u8]) -> Result<()> {
        Err(self.place.fault("is isolated, and processes do not share the memory of GPUs"))
    }

    fn workspace(&self) -> usize {
        0
    }

    fn runs_here(&self) -> bool {
        false
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.give_up(ticket);
        }
    }
}
