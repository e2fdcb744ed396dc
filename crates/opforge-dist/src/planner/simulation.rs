//! Programs on simulated ranks.

use std::sync::Arc;

use opforge::{DType, Meta, Tensor};
use opforge_core::{Result, Shape};

use super::ledger::{Ledger, Spent, Use};
use super::nowhere::Nowhere;
use super::{Machine, Space};
use crate::global::{World, unfilled};
use crate::{DeviceKind, Distribution, Groups, Placement, Sbp};

/// Simulated devices in a mesh.
pub struct Simulation {
    world: Arc<World>,
    ledger: Arc<Ledger>,
    placement: Placement,
    machine: Machine,
}

impl Simulation {
    /// So many devices along each dimension of a mesh.
    ///
    /// # Errors
    /// Those of [`Machine::check`] and [`Placement::new`].
    pub fn new(machine: &Machine, mesh: &[usize]) -> Result<Self> {
        machine.check()?;
        let ranks: Vec<usize> = (0..mesh.iter().product()).collect();
        let placement = Placement::new(DeviceKind::Cpu, mesh, &ranks)?;
        let (ledger, groups) = (Ledger::new(machine.clone()), Groups::new(Arc::new(Nowhere(ranks.len()))));
        let world = World::simulated(groups, machine.costs.clone(), ledger.clone());
        Ok(Simulation { world, ledger, placement, machine: machine.clone() })
    }

    /// The mesh.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// A tensor without elements, as a variable of a space.
    ///
    /// # Errors
    /// Those of [`Space::distribution`]; what does not go with the variable's shape; more placements than there may be.
    pub fn tensor(&self, space: &Space, variable: usize, dtype: DType, lies: &[Option<Sbp>]) -> Result<Tensor> {
        let (shape, to) = (&space.variables()[variable].shape, space.distribution(lies)?);
        to.check(shape)?;
        let tensor = unfilled(&self.world, &Meta::contiguous(dtype, shape), &to)?;
        self.ledger.know(&tensor, variable);
        Ok(tensor)
    }

    /// A tensor without elements that every device has.
    ///
    /// # Errors
    /// More placements than there may be.
    pub fn whole(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let to = Distribution::new(self.placement.clone(), &vec![Sbp::Broadcast; self.placement.mesh().len()])?;
        unfilled(&self.world, &Meta::contiguous(dtype, shape), &to)
    }

    /// Runs a program whose ranks are the simulated ones.
    pub fn run<R>(&self, program: impl FnOnce() -> R) -> R {
        self.world.run(program)
    }

    /// What was spent since the last time. The memory of tensors that are still there is counted on.
    pub fn take(&self) -> Spent {
        self.ledger.take()
    }

    /// What products took since the last time.
    pub(super) fn uses(&self) -> Vec<Use> {
        self.ledger.uses()
    }
}
