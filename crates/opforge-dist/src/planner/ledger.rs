//! What a simulated program costs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::Tensor;
use opforge::operator::{Call, Work};
use opforge::ops::linalg::linear::Linear;
use opforge::ops::linalg::matmul::MatMul;

use super::Machine;
use crate::Plan;

/// What the busiest device spends on a program, and what all of them move.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Seconds of calls.
    pub compute: f64,
    /// Seconds of boxing, which calls wait for.
    pub boxing: f64,
    /// Bytes that all devices together receive.
    pub moved: u64,
    /// The most bytes that tensors took at one time.
    pub memory: usize,
    /// Calls that are carried out on parts.
    pub calls: usize,
}

impl Spent {
    /// Seconds from beginning to end.
    pub fn seconds(&self) -> f64 {
        self.compute + self.boxing
    }
}

/// A product with a weight that is a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    /// The variables.
    pub weight: usize,
    pub bias: Option<usize>,
    /// Tells what the weight is multiplied with from other data.
    pub data: usize,
    /// The weight's dimension that the result has, and the one that is summed over.
    pub column: usize,
    pub row: usize,
}

#[derive(Debug, Default)]
struct State {
    spent: Spent,
    /// Bytes of the tensors that there are.
    held: usize,
    /// The variables, by their storages' addresses.
    variables: HashMap<usize, usize>,
    uses: Vec<Use>,
}

/// Adds up what calls cost, instead of carrying them out.
#[derive(Debug)]
pub(crate) struct Ledger {
    machine: Machine,
    state: Mutex<State>,
}

/// Bytes that are held until this is dropped.
pub(crate) struct Held {
    ledger: Arc<Ledger>,
    bytes: usize,
}

impl Ledger {
    pub fn new(machine: Machine) -> Arc<Self> {
        Arc::new(Ledger { machine, state: Mutex::default() })
    }

    /// The storage of a variable.
    pub(super) fn know(&self, tensor: &Tensor, variable: usize) {
        self.lock().variables.insert(address(tensor), variable);
    }

    /// A call on parts, for which inputs of so many bytes were brought together.
    pub fn computed(&self, call: &Call<'_>, work: Work, brought: usize) {
        let mut state = self.lock();
        let product = state.product(call);
        state.uses.extend(product);
        state.spent.calls += 1;
        state.spent.compute += self.machine.seconds(work);
        state.spent.memory = state.spent.memory.max(state.held + brought);
    }

    /// A change of distribution.
    pub fn boxed(&self, plan: &Plan) {
        let mut state = self.lock();
        state.spent.boxing += plan.seconds();
        state.spent.moved += plan.bytes();
    }

    /// A tensor of which the busiest device has so many bytes.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let mut state = self.lock();
        state.held += bytes;
        state.spent.memory = state.spent.memory.max(state.held);
        Held { ledger: self.clone(), bytes }
    }

    /// What was spent since the last time; tensors that are still there are held on.
    pub fn take(&self) -> Spent {
        let mut state = self.lock();
        let memory = state.held;
        std::mem::replace(&mut state.spent, Spent { memory, ..Spent::default() })
    }

    /// The products since the last time, and forgets which storages are variables: new ones may have their addresses.
    pub(super) fn uses(&self) -> Vec<Use> {
        let mut state = self.lock();
        state.variables.clear();
        std::mem::take(&mut state.uses)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn product(&self, call: &Call<'_>) -> Option<Use> {
        let [data, weight, rest @ ..] = call.inputs else { return None };
        let op = call.op.as_any();
        let is_linear = op.is::<Linear>();
        if !is_linear && !op.is::<MatMul>() {
            return None;
        }
        // A matrix, or its transpose.
        let (stride, rank) = (weight.stride(), weight.rank());
        let is_transposed = rank == 2 && stride[0] < stride[1];
        let last = usize::from(!is_transposed);
        let (column, row) = if is_linear { (1 - last, last) } else { (last, 1 - last) };
        let variable = |tensor: &Tensor| self.variables.get(&address(tensor)).copied();
        let bias = rest.first().and_then(|bias| variable(bias));
        (rank == 2).then_some(Use { weight: variable(weight)?, bias, data: address(data), column, row })
    }
}

fn address(tensor: &Tensor) -> usize {
    Arc::as_ptr(tensor.storage()) as usize
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ledger.lock().held -= self.bytes;
    }
}
