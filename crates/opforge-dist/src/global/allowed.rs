//! What an operator's axes allow along a dimension of a mesh.

use opforge::operator::{AxisMap, Linearity, Operator, Role};
use opforge::{Meta, Result};

use crate::{Reduction, Sbp};

/// Along one dimension of the mesh, what an operator takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub(super) inputs: Vec<Sbp>,
    pub(super) outputs: Vec<Sbp>,
    /// Lengths that are to be divided evenly.
    even: Vec<usize>,
}

impl Choice {
    /// How each input lies.
    pub fn inputs(&self) -> &[Sbp] {
        &self.inputs
    }

    /// How each output lies then.
    pub fn outputs(&self) -> &[Sbp] {
        &self.outputs
    }

    /// Whether it may be taken with so many parts: what is independent in blocks is divided evenly.
    pub fn divides_into(&self, parts: usize) -> bool {
        self.even.iter().all(|length| length.is_multiple_of(parts))
    }
}

/// All that an operator may be asked to do along a dimension of a mesh, on inputs like these; first, to compute the whole on every rank.
///
/// ```
/// use opforge::ops::linalg::matmul::MatMul;
/// use opforge::{DType, Meta, Shape};
/// use opforge_dist::global::choices;
///
/// let [x, w] = [(4, 6), (6, 2)].map(|dims| Meta::contiguous(DType::F32, Shape::from(dims)));
/// let all = choices(&MatMul, &[&x, &w])?;
/// let lies = |all: &[opforge_dist::Sbp]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
/// let all: Vec<String> = all.iter().map(|one| format!("{} -> {}", lies(one.inputs()), lies(one.outputs()))).collect();
/// let wanted = ["B, B -> B", "S(0), B -> S(0)", "S(1), S(0) -> P(sum)", "B, S(1) -> S(1)", "P(sum), B -> P(sum)", "B, P(sum) -> P(sum)"];
/// assert_eq!(all, wanted);
/// # Ok::<(), opforge::Error>(())
/// ```
///
/// # Errors
/// Inputs that the operator does not take.
pub fn choices(op: &dyn Operator, inputs: &[&Meta]) -> Result<Vec<Choice>> {
    let outputs = op.infer(inputs)?;
    Ok(Allowed { op, map: &op.axes(inputs), inputs, outputs: &outputs }.choices(|_| true))
}

/// An operator with its axes on inputs, and what it makes of them.
pub(super) struct Allowed<'a> {
    pub op: &'a dyn Operator,
    pub map: &'a AxisMap,
    pub inputs: &'a [&'a Meta],
    pub outputs: &'a [Meta],
}

impl Allowed<'_> {
    /// What may be done; first, nothing split. Of what is partial, for reductions by which something `is_partial`.
    pub fn choices(&self, is_partial: impl Fn(Reduction) -> bool) -> Vec<Choice> {
        let mut choices = vec![self.all(Sbp::Broadcast)];
        if self.op.has_effects() {
            return choices;
        }
        if self.names_all() {
            choices.extend((0..self.map.roles.len()).filter_map(|axis| self.along(axis)));
        }
        if is_partial(Reduction::Sum) {
            choices.extend(self.of_sums());
        }
        if let [input] = self.inputs
            && self.op.view(&input.layout).is_some()
        {
            let partial = Reduction::ALL.into_iter().filter(|&op| is_partial(op)).map(|op| self.all(Sbp::Partial(op)));
            choices.extend(partial.filter(|choice| !choices.contains(choice)).collect::<Vec<_>>());
        }
        choices.retain(|choice| self.takes(choice));
        choices
    }

    fn all(&self, sbp: Sbp) -> Choice {
        Choice { inputs: vec![sbp; self.inputs.len()], outputs: vec![sbp; self.outputs.len()], even: vec![] }
    }

    /// Whether each tensor has a name for each of its dimensions: what users declare may be of other tensors.
    fn names_all(&self) -> bool {
        let (map, ranks) = (self.map, |names: &[_], meta: &Meta| names.len() == meta.rank());
        map.inputs.len() == self.inputs.len()
            && map.outputs.len() == self.outputs.len()
            && map.inputs.iter().zip(self.inputs).all(|(names, meta)| ranks(names, meta))
            && map.outputs.iter().zip(self.outputs).all(|(names, meta)| ranks(names, meta))
    }

    /// Partial sums where the operator is linear.
    fn of_sums(&self) -> Vec<Choice> {
        let sum = Sbp::Partial(Reduction::Sum);
        let only = |i: usize| {
            let mut choice = self.all(Sbp::Broadcast);
            choice.inputs[i] = sum;
            Choice { outputs: vec![sum; self.outputs.len()], ..choice }
        };
        match self.op.linearity() {
            Linearity::None => vec![],
            Linearity::Jointly => vec![self.all(sum)],
            Linearity::InEach => (0..self.inputs.len()).map(only).collect(),
            Linearity::InFirst => vec![only(0)],
        }
    }

    /// Whether what becomes partial has a dtype that can be reduced so.
    fn takes(&self, choice: &Choice) -> bool {
        let pairs = self.inputs.iter().copied().zip(&choice.inputs).chain(self.outputs.iter().zip(&choice.outputs));
        pairs.into_iter().all(|(meta, sbp)| !matches!(sbp, Sbp::Partial(op) if !op.takes(meta.dtype)))
    }

    /// What splitting an axis means for each tensor, if it may be split.
    fn along(&self, axis: usize) -> Option<Choice> {
        let role = self.map.roles[axis];
        let lacking = match role {
            Role::SumWith => Sbp::Partial(Reduction::Sum),
            _ => Sbp::Broadcast,
        };
        let result = match role {
            Role::Whole => return None,
            Role::Map | Role::Placed | Role::Blocks => None,
            Role::Sum | Role::SumWith | Role::Lookup => Some(Reduction::Sum),
            Role::Product => Some(Reduction::Product),
            Role::Max => Some(Reduction::Max),
            Role::Min => Some(Reduction::Min),
            Role::Any => Some(Reduction::Any),
            Role::All => Some(Reduction::All),
        };
        // Where the one dimension of that name is; a name that stands twice in a tensor cannot be split.
        let place = |names: &[Option<u8>]| -> Option<Option<usize>> {
            let mut places = (0..names.len()).filter(|&d| names[d].map(usize::from) == Some(axis));
            let first = places.next();
            places.next().is_none().then_some(first)
        };
        let inputs = self.map.inputs.iter().map(|names| place(names)).collect::<Option<Vec<_>>>()?;
        let outputs = self.map.outputs.iter().map(|names| place(names)).collect::<Option<Vec<_>>>()?;
        let metas = || self.inputs.iter().copied().chain(self.outputs);
        let lengths: Vec<usize> =
            inputs.iter().chain(&outputs).zip(metas()).filter_map(|(d, meta)| Some(meta.dims()[(*d)?])).collect();
        if role != Role::Blocks && lengths.windows(2).any(|pair| pair[0] != pair[1]) {
            return None;
        }
        let split = |d: &Option<usize>| d.map_or(lacking, Sbp::Split);
        let given = |d: &Option<usize>| match (result, d) {
            (None | Some(Reduction::Sum), Some(d)) => Some(Sbp::Split(*d)),
            (Some(op), None) => Some(Sbp::Partial(op)),
            _ => None,
        };
        Some(Choice {
            inputs: inputs.iter().map(split).collect(),
            outputs: outputs.iter().map(given).collect::<Option<_>>()?,
            even: if role == Role::Blocks { lengths } else { vec![] },
        })
    }
}
