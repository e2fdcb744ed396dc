"""Tensors in nested tuples, lists and dictionaries: what functions and cells take and return."""

from __future__ import annotations

import copy

from .tensor import Base


class Slot:
    """The place of a tensor, or of a number that became one, in a value that was emptied."""

    __slots__ = ("index", "is_number")

    def __init__(self, index, is_number=False):
        self.index, self.is_number = index, is_number

    def __repr__(self):
        return f"{'Number' if self.is_number else 'Slot'}({self.index})"


def mapped(function, value, kind=Base):
    """`value` with `function` of each tensor (or other `kind`) in place of it. Lists and tuples of classes of their own are looked into, which the leaves of `utils._pytree` are not."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, (tuple, list)):
        items = [mapped(function, item, kind) for item in value]
        return value._make(items) if hasattr(value, "_make") else items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update({key: mapped(function, item, kind) for key, item in value.items()})
        return made
    return value


def emptied(value):
    """`value` with a `Slot` in place of each tensor, and the tensors."""
    tensors = []

    def take(tensor):
        tensors.append(tensor)
        return Slot(len(tensors) - 1)

    return mapped(take, value), tensors


def filled(value, tensors):
    """The reverse of `emptied`."""
    return mapped(lambda slot: tensors[slot.index], value, Slot)


def tensors_of(value) -> list:
    """The tensors in `value`, in order."""
    return emptied(value)[1]
