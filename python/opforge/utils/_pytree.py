"""Trees of containers: nested tuples, lists, dictionaries and what programs register, taken apart into leaves and a structure, and put together.

>>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([10 * leaf for leaf in leaves], spec)
{'a': 10, 'b': (20, [30])}
"""

from __future__ import annotations

from ._pytree_kinds import (  # noqa: F401
    Context,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    MappingKey,
    PyTree,
    SequenceKey,
    SUPPORTED_NODES,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq_class,
    is_structseq_instance,
    kind_of,
    register_constant,
    register_dataclass,
    register_pytree_node,
)
from ._pytree_spec import LeafSpec, TreeSpec

__all__ = [
    "Context", "GetAttrKey", "KeyEntry", "KeyPath", "LeafSpec", "MappingKey", "PyTree", "SUPPORTED_NODES", "SequenceKey", "TreeSpec",
    "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "keystr", "register_constant", "register_dataclass",
    "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip

_register_pytree_node, _get_node_type = register_pytree_node, kind_of


def tree_is_leaf(tree, is_leaf=None):
    """Whether it is a leaf: of no kind that is taken apart, or one that `is_leaf` says is one."""
    return (is_leaf is not None and is_leaf(tree)) or kind_of(tree) is None


def tree_iter(tree, is_leaf=None):
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[kind_of(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The list of leaves."""
    return list(tree_iter(tree, is_leaf))


arg_tree_leaves = lambda *args, **kwargs: tree_leaves((args, kwargs))


def tree_structure(tree, is_leaf=None):
    """The structure alone."""
    if tree_is_leaf(tree, is_leaf):
        return LeafSpec()
    kind = kind_of(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [tree_structure(child, is_leaf) for child in children])


def tree_flatten(tree, is_leaf=None):
    """The list of leaves, and the structure."""
    return tree_leaves(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_unflatten(leaves, treespec):
    """The tree of a structure with these leaves. Raises ValueError where they are not as many as it has."""
    return treespec.unflatten(leaves)


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree with `func(leaf, ..)` for each leaf, together with what stands in its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` as `tree_map` does, and gives the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matches(type_or_types_or_pred):
    if isinstance(type_or_types_or_pred, type) or not callable(type_or_types_or_pred):
        return lambda leaf: isinstance(leaf, type_or_types_or_pred)
    return type_or_types_or_pred


def tree_map_only(type_or_types_or_pred, func, tree=None, *, is_leaf=None):
    """`tree_map` for leaves of a type, of one of several, or of which a predicate is true; others stay. Without a tree: a function's wrapper."""
    matches = _matches(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if matches(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, *, is_leaf=None):
    """Calls `func` as `tree_map_only` does, and gives the tree itself."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function for leaves of a type, others as they are."""
    matches = _matches(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if matches(leaf) else leaf


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` is true of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` is true of a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """Whether `pred` is true of all leaves of a type."""
    return all(map(pred, filter(_matches(type_or_types_or_pred), tree_iter(tree, is_leaf))))


def tree_any_only(type_or_types_or_pred, pred, tree, is_leaf=None):
    """Whether `pred` is true of a leaf of a type."""
    return any(map(pred, filter(_matches(type_or_types_or_pred), tree_iter(tree, is_leaf))))


def _with_path(tree, path, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[kind_of(tree)]
    children = node.flatten_fn(tree)[0]
    if node.flatten_with_keys_fn is None:
        keys = [SequenceKey(i) for i in range(len(children))]
    else:
        keys = [key for key, _ in node.flatten_with_keys_fn(tree)[0]]
    for key, child in zip(keys, children):
        yield from _with_path(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The list of leaves with the keys that lead to them."""
    return list(_with_path(tree, (), is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """`tree_leaves_with_path`, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` of a function that is given the keys that lead to a leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp):
    """Keys as text: `['a'][0]`."""
    return "".join(map(str, kp))
