//! What a plan decides.

use opforge_core::Shape;

use crate::{Distribution, Placement, Sbp};

/// A tensor whose distribution is to be chosen; or several of one shape that are to lie alike, as the same weight of each layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// What reports call it.
    pub name: String,
    /// The shape of the whole.
    pub shape: Shape,
    /// Whether it is data: its first dimension counts samples.
    pub is_input: bool,
}

impl Variable {
    /// Data, whose first dimension counts samples.
    pub fn input(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Variable { name: name.into(), shape: shape.into(), is_input: true }
    }

    /// A weight.
    pub fn weight(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Variable { name: name.into(), shape: shape.into(), is_input: false }
    }
}

/// The tensors whose distributions are to be chosen, on a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    placement: Placement,
    variables: Vec<Variable>,
}

/// Of each variable, how it lies along each dimension of the mesh.
pub(super) type Choice = Vec<Vec<Sbp>>;

impl Space {
    /// Tensors that lie on a placement.
    pub fn new(placement: &Placement, variables: Vec<Variable>) -> Self {
        Space { placement: placement.clone(), variables }
    }

    /// The placement.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// The tensors.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The number of dimensions of the mesh.
    pub(super) fn dims(&self) -> usize {
        self.placement.mesh().len()
    }

    /// Nothing split.
    pub(super) fn whole(&self) -> Choice {
        vec![vec![Sbp::Broadcast; self.dims()]; self.variables.len()]
    }

    /// How a variable may lie along a dimension of the mesh.
    pub(super) fn values(&self, variable: usize) -> impl Iterator<Item = Sbp> + use<> {
        let rank = self.variables[variable].shape.rank();
        std::iter::once(Sbp::Broadcast).chain((0..rank).map(Sbp::Split))
    }

    /// Whether no rank's part of a variable is empty, and one rank alone has none.
    pub(super) fn takes(&self, variable: usize, sbp: &[Sbp]) -> bool {
        let dims = self.variables[variable].shape.dims();
        let alone = sbp.iter().zip(self.placement.mesh()).any(|(sbp, &ranks)| ranks == 1 && *sbp != Sbp::Broadcast);
        !alone
            && (0..dims.len()).all(|axis| {
                let split = sbp.iter().zip(self.placement.mesh()).filter(|(sbp, _)| **sbp == Sbp::Split(axis));
                split.map(|(_, &parts)| parts).product::<usize>() <= dims[axis].max(1)
            })
    }

    /// Splits a variable along a dimension of the mesh, if it is long enough.
    pub(super) fn split(&self, choice: &mut Choice, variable: usize, dim: usize, axis: usize) {
        let mut sbp = choice[variable].clone();
        sbp[dim] = Sbp::Split(axis);
        if axis < self.variables[variable].shape.rank() && self.takes(variable, &sbp) {
            choice[variable] = sbp;
        }
    }

    pub(super) fn distributions(&self, choice: &Choice) -> opforge_core::Result<Vec<Distribution>> {
        choice.iter().map(|sbp| Distribution::new(self.placement.clone(), sbp)).collect()
    }
}
