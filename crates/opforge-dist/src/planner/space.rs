//! What a plan decides.

use opforge::Tensor;
use opforge_core::{Error, Result, Shape};

use crate::global::{distribution_of, redistribute};
use crate::{Distribution, Placement, Sbp};

/// A tensor whose distribution is to be chosen; or several of one shape that are to lie alike, as the same weight of each layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// What reports call it.
    pub name: String,
    /// The shape of the whole.
    pub shape: Shape,
    /// What it is in the program.
    pub kind: Kind,
}

/// What a variable is in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data, whose first dimension counts samples.
    Input,
    /// What is trained.
    Weight,
    /// What the program computes, and may bring into another distribution there ([`lay`]).
    Activation,
}

/// How a variable lies along each dimension of a mesh; `None` for as it comes, which only activations may.
pub type Lies = Vec<Option<Sbp>>;

/// A global tensor as a variable is to lie: brought there along the dimensions of the mesh for which that is said. Its gradient comes back to where it was.
///
/// # Errors
/// A local tensor; a mesh of another number of dimensions; dimensions that the tensor does not have.
#[track_caller]
pub fn lay(tensor: &Tensor, lies: &[Option<Sbp>]) -> Result<Tensor> {
    let Some(now) = distribution_of(tensor)? else {
        return Err(Error::value("lay", "tensor", "a local tensor", "a global one"));
    };
    if now.sbp().len() != lies.len() {
        let expected = format!("one for each of {} dimensions of the mesh", now.sbp().len());
        return Err(Error::value("lay", "lies", lies.len(), expected));
    }
    let sbp: Vec<Sbp> = now.sbp().iter().zip(lies).map(|(&now, to)| to.unwrap_or(now)).collect();
    redistribute(tensor, &Distribution::new(now.placement().clone(), &sbp)?)
}

impl Variable {
    /// Data, whose first dimension counts samples.
    pub fn input(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Variable { name: name.into(), shape: shape.into(), kind: Kind::Input }
    }

    /// A weight.
    pub fn weight(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Variable { name: name.into(), shape: shape.into(), kind: Kind::Weight }
    }

    /// What the program computes.
    pub fn activation(name: impl Into<String>, shape: impl Into<Shape>) -> Self {
        Variable { name: name.into(), shape: shape.into(), kind: Kind::Activation }
    }
}

/// The tensors whose distributions are to be chosen, on a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    placement: Placement,
    variables: Vec<Variable>,
}

/// Of each variable, how it lies.
pub(super) type Choice = Vec<Lies>;

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

    /// Nothing split, and activations as they come.
    pub(super) fn whole(&self) -> Choice {
        let whole = |one: &Variable| (one.kind != Kind::Activation).then_some(Sbp::Broadcast);
        self.variables.iter().map(|one| vec![whole(one); self.dims()]).collect()
    }

    /// How a variable may lie along a dimension of the mesh.
    pub(super) fn values(&self, variable: usize) -> impl Iterator<Item = Option<Sbp>> + use<> {
        let Variable { shape, kind, .. } = &self.variables[variable];
        let as_it_comes = (*kind == Kind::Activation).then_some(None);
        as_it_comes
            .into_iter()
            .chain([Some(Sbp::Broadcast)])
            .chain((0..shape.rank()).map(|axis| Some(Sbp::Split(axis))))
    }

    /// Whether no rank's part of a variable is empty, and one rank alone has none.
    pub(super) fn takes(&self, variable: usize, lies: &[Option<Sbp>]) -> bool {
        let dims = self.variables[variable].shape.dims();
        let is_split = |sbp: &Option<Sbp>| matches!(sbp, Some(Sbp::Split(_)));
        let alone = lies.iter().zip(self.placement.mesh()).any(|(sbp, &ranks)| ranks == 1 && is_split(sbp));
        !alone
            && (0..dims.len()).all(|axis| {
                let split = lies.iter().zip(self.placement.mesh()).filter(|(sbp, _)| **sbp == Some(Sbp::Split(axis)));
                split.map(|(_, &parts)| parts).product::<usize>() <= dims[axis].max(1)
            })
    }

    /// Splits a variable along a dimension of the mesh, if it is long enough.
    pub(super) fn split(&self, choice: &mut Choice, variable: usize, dim: usize, axis: usize) {
        let mut lies = choice[variable].clone();
        lies[dim] = Some(Sbp::Split(axis));
        if axis < self.variables[variable].shape.rank() && self.takes(variable, &lies) {
            choice[variable] = lies;
        }
    }

    /// The distribution of a tensor that does not lie as it comes.
    ///
    /// # Errors
    /// A mesh of another number of dimensions; a dimension of the mesh along which it is not said how it lies.
    pub fn distribution(&self, lies: &[Option<Sbp>]) -> Result<Distribution> {
        let unsaid = || Error::value("plan", "lies", "as it comes", "how it lies along each dimension of the mesh");
        let sbp: Vec<Sbp> = lies.iter().map(|one| one.ok_or_else(unsaid)).collect::<Result<_>>()?;
        Distribution::new(self.placement.clone(), &sbp)
    }
}
