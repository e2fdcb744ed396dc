"""Arguments and results taken apart: tensors, and what they stand in."""

from __future__ import annotations

import copy

from .. import _core
from .._calls import intercept as _intercept

_Tensor = _core.Tensor


class NoStructure(TypeError):
    """A value that cannot be told from others, because something in it has no hash, or decides what calls do."""


class Structure:
    """What a value is besides its tensors. Equal structures have equal keys."""

    def __init__(self, key, build):
        self.key = key
        self._build = build

    def build(self, tensors):
        """The value, with these tensors."""
        return self._build(iter(tensors))


def flatten(value):
    """The tensors of a value, in order, and its structure. Tuples, lists and dictionaries are looked into; other objects are parts of the structure.

    Raises NoStructure for an object without a hash, and for a tensor whose class decides calls.
    """
    tensors = []
    return tensors, _flatten(value, tensors)


def _flatten(value, tensors):
    if isinstance(value, _Tensor):
        if _intercept.asks(value):
            raise NoStructure(f"{type(value).__name__} has a __torch_function__")
        tensors.append(value)
        return Structure(_Tensor, next)
    if isinstance(value, dict):
        items = {name: _flatten(item, tensors) for name, item in value.items()}
        # Its own items are not held: what nobody holds after a trace is the graph's alone.
        like = _filled(value, dict.fromkeys(items))
        build = lambda tensors: _filled(like, {name: item._build(tensors) for name, item in items.items()})
        return Structure((type(value), tuple((name, item.key) for name, item in items.items())), build)
    if isinstance(value, (list, tuple)):
        items = [_flatten(item, tensors) for item in value]
        kind = type(value)
        make = (lambda items: kind(*items)) if hasattr(kind, "_fields") else kind
        build = lambda tensors: make([item._build(tensors) for item in items])
        return Structure((kind, tuple(item.key for item in items)), build)
    try:
        hash(value)
    except TypeError as error:
        raise NoStructure(str(error)) from None
    # 1, 1.0 and True are equal, and not the same.
    return Structure((type(value), value), lambda _: value)


def _filled(mapping, items):
    """The items in a mapping like this one."""
    if type(mapping) is dict:
        return items
    filled = copy.copy(mapping)
    filled.update(items)
    return filled
