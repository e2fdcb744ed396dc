//! The order in which collectives of a communicator begin their operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::calling::Steps;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Order(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of the next call.
    next: u64,
    /// The number of the call whose turn it is.
    current: u64,
    /// Calls after it that have given up their turns.
    left: BTreeSet<u64>,
    /// Calls that have turns to come, or have theirs.
    calls: BTreeMap<u64, Weak<Mutex<Steps>>>,
}

impl Order {
    /// Makes a call known, so that those behind it can let it go on.
    pub fn enter(&self, number: u64, call: &Arc<Mutex<Steps>>) {
        self.lock().calls.insert(number, Arc::downgrade(call));
    }

    /// Lets the call whose turn it is go on, unless another thread does.
    pub fn drive(&self) {
        let state = self.lock();
        let call = state.calls.get(&state.current).and_then(Weak::upgrade);
        drop(state);
        if let Some(Ok(mut steps)) = call.as_ref().map(|call| call.try_lock()) {
            steps.drive();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's place in the order; the next one's turn comes when it is dropped.
pub(super) struct Turn {
    order: Arc<Order>,
    number: u64,
}

impl Turn {
    /// The place behind all others.
    pub fn next(order: &Arc<Order>) -> Self {
        let mut state = order.lock();
        state.next += 1;
        Turn { order: order.clone(), number: state.next - 1 }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether all before it have been dropped.
    pub fn has_come(&self) -> bool {
        self.order.lock().current == self.number
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut guard = self.order.lock();
        let state = &mut *guard;
        state.calls.remove(&self.number);
        state.left.insert(self.number);
        while state.left.remove(&state.current) {
            state.current += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order_whoever_leaves_first() {
        let order = Arc::default();
        let [first, second, third] = [(); 3].map(|()| Turn::next(&order));
        assert!(first.has_come() && !second.has_come());
        drop(second);
        assert!(first.has_come() && !third.has_come());
        drop(first);
        assert!(third.has_come());
    }
}
