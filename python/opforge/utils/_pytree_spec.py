"""The structure of a tree."""

from __future__ import annotations

import collections
import itertools

from ._pytree_kinds import SUPPORTED_NODES, kind_of


class TreeSpec:
    """What a tree is besides its leaves: a kind of container, its context (keys, for example), and the structures of its children."""

    def __init__(self, type, context, children_specs):
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)
        self.num_leaves = sum(child.num_leaves for child in self._children)
        self.num_children = len(self._children)

    @property
    def children_specs(self):
        """The structures of the children."""
        return self._children

    def children(self):
        """The structures of the children."""
        return list(self._children)

    def child(self, index):
        """The structure of a child."""
        return self._children[index]

    def is_leaf(self):
        """Whether it is a leaf's."""
        return False

    def unflatten(self, leaves):
        """The tree with these leaves. Raises ValueError where they are not as many as it has."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self.context)

    def flatten_up_to(self, tree):
        """What stands in a tree where this one has leaves. Raises ValueError for a tree of another structure."""
        if kind_of(tree) is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        children, context = SUPPORTED_NODES[self.type].flatten_fn(tree)
        if self.type in _KEYED:
            children = _by_keys(self, tree)
        elif len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        elif context != self.context and not isinstance(tree, (list, tuple)):
            raise ValueError(f"Node context mismatch for custom node type {self.type}.")
        return list(itertools.chain(*(spec.flatten_up_to(child) for spec, child in zip(self._children, children))))

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return type(self) is type(other) and (self.type, self.context, self._children) == (other.type, other.context, other._children)

    def __hash__(self):
        return hash((self.type, str(self.context), tuple(self._children)))

    def __repr__(self):
        return self._text(0)

    def _text(self, indent):
        """The structure as text; children after the first stand in lines of their own."""
        indent += 2
        children = f",\n{' ' * indent}".join(child._text(indent) for child in self._children)
        return f"TreeSpec({getattr(self.type, '__name__', self.type)}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self):
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self):
        return True

    def _build(self, leaves):
        return next(leaves)

    def flatten_up_to(self, tree):
        return [tree]

    def _text(self, indent):
        return "*"


# Dictionaries are equal in whatever order their keys are.
_KEYED = (dict, collections.OrderedDict, collections.defaultdict)


def _by_keys(spec, tree):
    """A dictionary's values in the order of the structure's keys."""
    names = spec.context[1] if spec.type is collections.defaultdict else spec.context
    if set(names) != set(tree):
        raise ValueError(f"Node keys mismatch; missing key(s): {set(names) - set(tree)}; unexpected key(s): {set(tree) - set(names)}.")
    return [tree[name] for name in names]
