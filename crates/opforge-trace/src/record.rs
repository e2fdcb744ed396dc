//! The trace in progress on this thread.

use std::cell::RefCell;
use std::collections::HashMap;

use opforge_core::DType;

use crate::expression::{Expression, Id, Node, Op};

/// How what is traced is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Every operation is rounded, of a multiply-add both.
    Plain,
    /// Multiply-add rounds once.
    Fused,
    /// As `Fused`, and the machine has powers of two and quotients of f32 that are [less exact](opforge_tile::Float::approximates), and faster.
    Approximate,
}

impl From<bool> for Arithmetic {
    fn from(fused: bool) -> Self {
        if fused { Arithmetic::Fused } else { Arithmetic::Plain }
    }
}

struct Trace {
    arithmetic: Arithmetic,
    nodes: Vec<Node>,
    numbers: HashMap<Node, Id>,
}

thread_local! {
    static TRACE: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

/// A function to be traced, which gives its results and the node that tells of failure. A trait of its own: there are very many, and with
/// `dyn FnMut` each would have the code of `FnOnce` too.
pub(crate) trait Traced {
    fn run(&mut self) -> (Vec<Id>, Option<Id>);
}

impl<F: FnMut() -> (Vec<Id>, Option<Id>)> Traced for F {
    fn run(&mut self) -> (Vec<Id>, Option<Id>) {
        self()
    }
}

/// What a function leaves behind that makes symbols of these inputs, and returns its results and the node that tells of failure.
///
/// Not generic: every tile function is traced in every dtype, and what differs is the function alone.
pub(crate) fn trace(inputs: Vec<DType>, arithmetic: Arithmetic, function: &mut dyn Traced) -> Expression {
    /// Gives the thread back what it traced before, also when the function panics.
    struct Restore(Option<Trace>);
    impl Drop for Restore {
        fn drop(&mut self) {
            TRACE.replace(self.0.take());
        }
    }
    let _restore = Restore(TRACE.replace(Some(Trace { arithmetic, nodes: Vec::new(), numbers: HashMap::new() })));
    let (results, failure) = function.run();
    let nodes = TRACE.take().map_or_else(Vec::new, |trace| trace.nodes);
    Expression { inputs, nodes, results, failure }
}

/// The number of a node of the trace in progress: that of its equal, if there is one.
pub(crate) fn record(dtype: DType, op: Op, operands: &[Id]) -> Id {
    TRACE.with_borrow_mut(|trace| {
        let trace = trace.as_mut().expect("a symbol lives as long as the trace that made it");
        let (op, operands) = match (op, operands) {
            // A constant's bits are a constant.
            (Op::Reinterpret, [of]) if matches!(trace.nodes[of.0 as usize].op, Op::Constant(_)) => {
                (trace.nodes[of.0 as usize].op, Vec::new())
            }
            (op, operands) => (op, operands.to_vec()),
        };
        let node = Node { dtype, op, operands };
        *trace.numbers.entry(node).or_insert_with_key(|node| {
            trace.nodes.push(node.clone());
            Id(trace.nodes.len() as u32 - 1)
        })
    })
}

/// The arithmetic of the trace in progress.
pub(crate) fn arithmetic() -> Arithmetic {
    TRACE.with_borrow(|trace| trace.as_ref().map_or(Arithmetic::Plain, |trace| trace.arithmetic))
}
