"""Arguments and results taken apart, as `utils._pytree` does: what is registered there is looked into, anything else is a leaf."""

from __future__ import annotations

from .. import _core
from ..utils._pytree import tree_leaves, tree_structure, tree_unflatten
from ..utils._pytree_kinds import SUPPORTED_NODES, kind_of

# What a leaf looks like; tensors, which most trees are, take a short way.
_LEAF = tree_structure(None)
# The tree of these leaves that looks like that.
filled = tree_unflatten


def leaves(tree):
    """The leaves, in order."""
    return [tree] if isinstance(tree, _core.Tensor) else tree_leaves(tree)


def shape(tree):
    """What a tree looks like, with `*` for leaves; trees are alike if this is the same."""
    return _LEAF if isinstance(tree, _core.Tensor) else tree_structure(tree)


def like(tree, replaced):
    """The tree with other leaves, in the same order."""
    replaced = list(replaced)
    return replaced[0] if isinstance(tree, _core.Tensor) else filled(replaced, tree_structure(tree))


def spread(prefix, tree):
    """A value for each leaf of a tree: a leaf of `prefix` stands for all leaves of what is in its place. None if they do not fit."""
    kind = kind_of(prefix)
    if kind is None:
        return [prefix] * len(leaves(tree))
    if kind_of(tree) is not kind:
        return None
    (parts, context), (others, other_context) = SUPPORTED_NODES[kind].flatten_fn(prefix), SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != len(others) or context != other_context:
        return None
    found = [spread(part, other) for part, other in zip(parts, others)]
    return None if any(part is None for part in found) else [value for part in found for value in part]
