//! Which axes of several calls are the same, and which of them are independent in all.

use smallvec::SmallVec;

use super::part::Part;
use crate::Meta;
use crate::operator::Role;

/// An axis that several tensors share: an index into [`Axes`].
pub(super) type Class = usize;
/// The axis of each dimension of a tensor.
pub(super) type Dims = SmallVec<[Class; 6]>;

/// Axes of calls, joined where they are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Axes {
    /// The axis that each was joined to, or itself.
    parent: Vec<Class>,
    /// The lengths and whether parts of it may be computed one by one, right for those that are their own parents.
    len: Vec<usize>,
    independent: Vec<bool>,
}

impl Axes {
    /// Adds a call's axes: those of its inputs' and its outputs' dimensions.
    pub fn add(&mut self, part: &Part) -> Vec<Dims> {
        let map = part.op.axes(&part.inputs.iter().collect::<SmallVec<[&Meta; 3]>>());
        let first = self.parent.len();
        for role in &map.roles {
            self.push(0, *role == Role::Map);
        }
        let mut known = vec![None; map.roles.len()];
        let mut tensors = Vec::new();
        for (names, meta) in map.inputs.iter().chain(&map.outputs).zip(part.metas()) {
            let class = |(name, &len): (&Option<u8>, &usize)| match name {
                Some(name) => {
                    let class = first + usize::from(*name);
                    self.independent[class] &= known[usize::from(*name)].replace(len).is_none_or(|other| other == len);
                    self.len[class] = len;
                    class
                }
                None => self.push(len, false),
            };
            tensors.push(names.iter().zip(meta.dims()).map(class).collect());
        }
        tensors
    }

    fn push(&mut self, len: usize, independent: bool) -> Class {
        self.parent.push(self.parent.len());
        self.len.push(len);
        self.independent.push(independent);
        self.parent.len() - 1
    }

    /// What an axis is joined to.
    pub fn root(&self, mut class: Class) -> Class {
        while self.parent[class] != class {
            class = self.parent[class];
        }
        class
    }

    /// Makes two axes one.
    pub fn join(&mut self, a: Class, b: Class) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[b] = a;
        self.independent[a] &= self.independent[b];
    }

    /// The length of an axis.
    pub fn len(&self, class: Class) -> usize {
        self.len[self.root(class)]
    }

    /// Whether an axis can be a loop around all calls.
    pub fn is_loop(&self, class: Class) -> bool {
        let root = self.root(class);
        self.independent[root] && self.len[root] > 1
    }
}
