"""Arguments and results taken apart: tuples, lists and dictionaries are looked into, anything else is a leaf."""

from __future__ import annotations


def _children(tree):
    """The parts of a container; None of a leaf."""
    if isinstance(tree, dict):
        return list(tree.values())
    return list(tree) if isinstance(tree, (tuple, list)) else None


def leaves(tree):
    """The leaves, in order."""
    parts = _children(tree)
    return [tree] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def like(tree, replaced):
    """The tree with other leaves, in the same order."""
    return _filled(tree, iter(replaced))


def _filled(tree, replaced):
    parts = _children(tree)
    if parts is None:
        return next(replaced)
    parts = [_filled(part, replaced) for part in parts]
    if isinstance(tree, dict):
        # A dictionary of another kind, as OrderedDict, is made like this one.
        filled = tree.copy()
        filled.update(zip(tree, parts))
        return filled
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def _same_kind(first, second):
    if isinstance(first, dict):
        return isinstance(second, dict) and list(first) == list(second)
    return type(first) is type(second) and len(first) == len(second)


def shape(tree):
    """What a tree looks like, with `*` for leaves; trees are alike if this is the same."""
    parts = _children(tree)
    if parts is None:
        return "*"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {shape(part)}" for key, part in zip(tree, parts)) + "}"
    inner = ", ".join(map(shape, parts))
    return f"[{inner}]" if isinstance(tree, list) else f"({inner}{',' if len(parts) == 1 else ''})"


def spread(prefix, tree):
    """A value for each leaf of a tree: a leaf of `prefix` stands for all leaves of what is in its place. None if they do not fit."""
    parts = _children(prefix)
    if parts is None:
        return [prefix] * len(leaves(tree))
    others = _children(tree)
    if others is None or not _same_kind(prefix, tree):
        return None
    found = [spread(part, other) for part, other in zip(parts, others)]
    return None if any(part is None for part in found) else [value for part in found for value in part]
