//! Handles of recorded calls, as users walk the graph.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Node;
use super::node::Action;
use super::slot::Edge;
use crate::Tensor;

/// A handle of a recorded call, or of a leaf as the place where gradients end.
#[derive(Clone)]
pub struct GradFn(Place);

#[derive(Clone)]
enum Place {
    Node(Arc<Node>),
    Leaf(Tensor),
}

impl GradFn {
    pub(super) fn of(node: Arc<Node>) -> Self {
        GradFn(Place::Node(node))
    }

    /// PyTorch's kind of name: `MulBackward0` for `mul`, `AccumulateGrad` for a leaf, `CopySlices` for a change of a part in place.
    pub fn name(&self) -> String {
        match &self.0 {
            Place::Leaf(_) => "AccumulateGrad".to_owned(),
            Place::Node(node) => match &node.action {
                Action::Operator(op) => format!("{}Backward0", camel_case(op.name())),
                Action::Show => "AsStridedBackward0".to_owned(),
                Action::Function(name) => name.to_string(),
                Action::Overwrite => "CopySlices".to_owned(),
            },
        }
    }

    /// Where the inputs' gradients go, input by input: the call that computed it and as which output; `None` where none is needed.
    pub fn next_functions(&self) -> Vec<(Option<GradFn>, usize)> {
        let Place::Node(node) = &self.0 else { return Vec::new() };
        let next = |edge: &Option<Edge>| match edge.clone() {
            None => (None, 0),
            Some(Edge::Leaf(leaf)) => (Some(GradFn(Place::Leaf(leaf))), 0),
            Some(Edge::Node(node, output)) => (Some(GradFn(Place::Node(node))), output),
        };
        node.edges.iter().map(next).collect()
    }

    /// The leaf, if this is one.
    pub fn variable(&self) -> Option<&Tensor> {
        match &self.0 {
            Place::Leaf(leaf) => Some(leaf),
            Place::Node(_) => None,
        }
    }

    /// What no other call or leaf has that is alive: whether it is a leaf, and a number.
    pub fn key(&self) -> (bool, usize) {
        match &self.0 {
            Place::Node(node) => (false, Arc::as_ptr(node).addr()),
            Place::Leaf(leaf) => (true, leaf.id().number()),
        }
    }

    /// Whether both are handles of the same call or leaf, as `==` says too.
    pub fn same(&self, other: &GradFn) -> bool {
        match (&self.0, &other.0) {
            (Place::Node(a), Place::Node(b)) => Arc::ptr_eq(a, b),
            (Place::Leaf(a), Place::Leaf(b)) => a.id() == b.id(),
            _ => false,
        }
    }
}

impl PartialEq for GradFn {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for GradFn {}

impl Hash for GradFn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Place::Node(node) => node.sequence.hash(state),
            Place::Leaf(leaf) => leaf.id().hash(state),
        }
    }
}

impl std::fmt::Debug for GradFn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{}>", self.name())
    }
}

/// `log_softmax` as `LogSoftmax`.
fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    };
    name.split('_').map(capital).collect()
}

impl Tensor {
    /// The recorded call that computed this tensor; `None` for leaves and constants.
    pub fn grad_fn(&self) -> Option<GradFn> {
        match self.edge()? {
            Edge::Leaf(_) => None,
            Edge::Node(node, _) => Some(GradFn(Place::Node(node))),
        }
    }

    /// Which output of [`Tensor::grad_fn`] this tensor is.
    pub fn output_nr(&self) -> usize {
        match self.edge() {
            Some(Edge::Node(_, output)) => output,
            _ => 0,
        }
    }
}
