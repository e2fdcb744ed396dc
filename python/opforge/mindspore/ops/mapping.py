"""Functions of several tensors at once: `Map`, `HyperMap` and what is used with them."""

from __future__ import annotations

import functools

from ... import _core
from ..structure import mapped, tensors_of
from ..tensor import adopt


class Map:
    """`ops` of each item of tuples or lists, one or several of the same length; the function comes first in a call if it was not given before.

    >>> Map(lambda a, b: a + b)((1, 2), (3, 4))
    (4, 6)
    """

    def __init__(self, ops=None, reverse=False):
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args):
        function, args = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        return self._mapped(function, args)

    def _mapped(self, function, args):
        if not args or not all(isinstance(arg, (tuple, list)) for arg in args):
            raise TypeError(f"{type(self).__name__}: arguments {[type(arg).__name__ for arg in args]} (accepted: tuples or lists)")
        if len({len(arg) for arg in args}) > 1:
            raise ValueError(f"{type(self).__name__}: lengths {[len(arg) for arg in args]} (accepted: the same)")
        items = [self._item(function, item) for item in zip(*args)]
        return items if isinstance(args[0], list) else tuple(items)

    def _item(self, function, items):
        return function(*items)


class HyperMap(Map):
    """As `Map`, of the items of nested tuples and lists."""

    def _item(self, function, items):
        nested = all(isinstance(item, (tuple, list)) for item in items)
        return self._mapped(function, items) if nested else function(*items)


class MultitypeFuncGraph:
    """A function that is chosen by the kinds of its arguments, `"Tensor"`, `"Number"`, `"Bool"`, `"Tuple"` and others, with which each is registered."""

    def __init__(self, name, read_value=False):
        self.name, self._functions = name, {}

    def register(self, *kinds):
        """A decorator: the function for arguments of these kinds."""

        def attach(function):
            self._functions[kinds] = function
            return self

        return attach

    def __call__(self, *args):
        for kinds, function in self._functions.items():
            if len(kinds) == len(args) and all(_is_of(kind, arg) for kind, arg in zip(kinds, args)):
                return function(*args)
        registered = "; ".join(", ".join(map(str, kinds)) for kinds in self._functions)
        raise ValueError(f"{self.name}: arguments {', '.join(type(arg).__name__ for arg in args)} (registered: {registered})")


_KINDS = {
    "Tensor": _core.Tensor,
    "Number": (int, float),
    "Int": int,
    "Float": float,
    "Bool": bool,
    "String": str,
    "Tuple": tuple,
    "List": list,
    "Dictionary": dict,
    "None": type(None),
}


def _is_of(kind, arg) -> bool:
    if not isinstance(kind, str) or kind not in _KINDS:
        return callable(arg) if kind == "Function" else True
    return isinstance(arg, _KINDS[kind])


class Partial:
    """A function with its first arguments: `Partial()(function, *args)`."""

    def __call__(self, function, *args, **kwargs):
        return functools.partial(function, *args, **kwargs)


def clip_by_global_norm(x, clip_norm=1.0, use_norm=None):
    """Tensors in a tuple or list, divided so that the root of the sum of all squares is `clip_norm` at most."""
    norm = _core.sqrt(sum(_core.sum(_core.square(tensor)) for tensor in tensors_of(x))) if use_norm is None else use_norm
    factor = clip_norm / _core.maximum(norm, _core.full_like(norm, clip_norm))
    return adopt(type(x)([tensor * factor for tensor in x]))


def clip_by_norm(x, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """A tensor, or those in a list or tuple, divided so that the norm of all elements is `max_norm` at most."""
    norm = _core.linalg.norm(_core.cat([tensor.reshape(-1) for tensor in tensors_of(x)]), norm_type)
    if error_if_nonfinite and not bool(_core.isfinite(norm)):
        raise RuntimeError(f"clip_by_norm: the norm is {norm.item()} (accepted: a finite one, with error_if_nonfinite)")
    factor = _core.clamp(max_norm / (norm + 1e-6), max=1.0)
    return mapped(lambda tensor: adopt(tensor * factor), x)


def print_(*input_x):
    """Prints what it is called with."""
    print(*input_x, sep="\n")
