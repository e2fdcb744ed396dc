"""Running combinations of elements by a function of the user's."""

from __future__ import annotations

from .. import _core
from ..utils import _pytree

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """`y[0] = x[0]`, `y[i] = combine_fn(y[i - 1], x[i])` along `dim`, of a tensor or a tree of tensors; from the end if `reverse`.

    The function is called once for each place along `dim`, in order. Raises ValueError for no tensors, other modes than `"pointwise"` and `"generic"`,
    and lengths that differ.

    >>> import opforge as torch
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    leaves, spec = _pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, _core.Tensor) for leaf in leaves):
        raise ValueError("associative_scan: xs, expected a tensor or a tree of tensors")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan: combine_mode={combine_mode!r} (accepted: pointwise, generic)")
    lengths = {leaf.shape[dim] for leaf in leaves}
    if len(lengths) != 1:
        raise ValueError(f"associative_scan: lengths along dim {dim} of {sorted(lengths)}, expected one")
    places = range(lengths.pop())
    order = list(reversed(places)) if reverse else list(places)
    found = _running(combine_fn, leaves, spec, dim, order)
    if reverse:
        found.reverse()
    stacked = [_core.cat(parts, dim) for parts in zip(*found, strict=True)] if found else leaves
    return _pytree.tree_unflatten(stacked, spec)


def _running(combine_fn, leaves, spec, dim, order):
    """The combinations, each as its leaves."""
    found = []
    for place in order:
        here = [leaf.narrow(dim, place, 1) for leaf in leaves]
        if found:
            before, own = _pytree.tree_unflatten(found[-1], spec), _pytree.tree_unflatten(here, spec)
            here = _pytree.tree_leaves(combine_fn(before, own))
        found.append(here)
    return found
