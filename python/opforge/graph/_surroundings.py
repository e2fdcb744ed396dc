"""What a function reads, and may change, besides the tensors that it is given: variables, attributes, items, and what these are of.

One walk finds it: `surroundings.key` tells apart how all of it is now, `Around` is how it was before a call, to be compared and brought back. What is looked into:
functions of users' packages and what their code names, modules (of Python's and of nn's), objects and classes of users, partial functions, containers, small arrays of
NumPy's, one inside of the other up to eight deep, containers of up to 1024 items.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
import types
from collections import deque
from collections.abc import Iterator

from .. import _core
from ..nn.modules.module import Module

_PLAIN = frozenset({bool, int, float, complex, str, type(None)})
_PACKAGE = __name__.partition(".")[0]
# Where classes of operators and of programs are, whose attributes are not looked into.
_OPERATORS = tuple(f"{_PACKAGE}.{name}" for name in ("ops", "library", "custom", "graph", "_core"))
_NOT_USERS = frozenset({*sys.stdlib_module_names, *sys.builtin_module_names, _PACKAGE, "builtins", "numpy"})
# Of classes of objects that hold tensors under names of their own: the name of the dictionary of children, those of the dictionaries of tensors, and names of
# attributes that are looked at only if they are plain.
_HOLDERS = {}
# What has these classes, or classes of theirs, is looked into as the words say.
_WORDS = (
    (_core.Tensor, "tensor"),
    (types.FunctionType, "function"),
    (types.MethodType, "method"),
    (functools.partial, "partial"),
    (dict, "dict"),
    ((list, tuple, set, frozenset, deque), "items"),
)


def watch(kind, children, *tensors, skip=()):
    """Has objects of a class looked into by the names of the dictionaries of their children, if they have any, and of their tensors, and of other attributes those that are not among `skip`."""
    _HOLDERS[kind] = children, list(tensors), frozenset(skip)
    surroundings.forget()


def _classify(kind):
    """How objects of a class are looked into: a word, users' own classes among its bases, and names."""
    own = [base for base in kind.__mro__ if base is not object and _is_of_users(base.__module__)]
    names = next((_HOLDERS[base] for base in kind.__mro__ if base in _HOLDERS), None)
    if names is not None:
        return "holder", own, names
    word = next((word for base, word in _WORDS if issubclass(kind, base)), None)
    if word is not None:
        return word, own, None
    if kind.__module__.startswith("numpy"):
        return "array", own, None
    if kind in (argparse.Namespace, types.SimpleNamespace):
        return "object", own, []
    package = kind.__module__.partition(".")[0]
    if issubclass(kind, (type, types.ModuleType)) or kind.__module__.startswith(_OPERATORS) or package in sys.stdlib_module_names:
        return "other", own, None
    return "object", own, [*_slots(kind)]


def _slots(kind):
    """The names of the attributes that objects of a class have in slots."""
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                is_private = name.startswith("__") and not name.endswith("__")
                yield f"_{base.__name__.lstrip('_')}{name}" if is_private else name


def _is_of_users(name):
    """Whether a module's name is none of Python's own, opforge's or NumPy's."""
    package = (name or "").partition(".")[0]
    return package == "__main__" or package not in _NOT_USERS


surroundings = _core._Surroundings(_classify, _is_of_users)
watch(Module, "_modules", "_parameters", "_buffers", skip=[name for name in vars(Module()) if "hooks" not in name])


class Around:
    """What is around a function and objects that it is given, as it is now."""

    def __init__(self, function, objects=()):
        containers, self._variables, others = surroundings.parts(function, objects)
        self._containers = [(value, _copied(value)) for value in containers if not isinstance(value, (tuple, frozenset))]
        # How states of random numbers are asked for and set.
        self._generators = _generators()
        for value in others:
            self._generators.extend(_generators_of(value))
        self.has_iterators = any(isinstance(value, Iterator) for value in others)
        self._random = [getter() for getter, _ in self._generators]

    def has_changed(self):
        """Whether anything but tensors' elements is another."""
        return any(not _are_same(now, before) for now, before in self._containers) or any(
            not _is_same(_read(owner, name), value) for owner, name, value in self._variables
        )

    def has_drawn(self):
        """Whether random numbers of Python's or NumPy's were drawn."""
        return str([getter() for getter, _ in self._generators]) != str(self._random)

    def restore(self):
        """Makes everything what it was."""
        for now, before in self._containers:
            if not _are_same(now, before):
                _refill(now, before)
        for owner, name, value in self._variables:
            if not _is_same(_read(owner, name), value):
                _write(owner, name, value)
        for (_, setter), state in zip(self._generators, self._random):
            setter(state)


_NOTHING = object()


def _copied(value):
    """The content of a container, or of an array, whatever its class makes of copies."""
    kind = next((kind for kind in (dict, list, set) if isinstance(value, kind)), list)
    return value.copy() if _is_array(value) else kind(value)


def _is_array(value):
    return hasattr(value, "tobytes")


def _refill(now, before):
    if _is_array(now):
        now[...] = before
        return
    now.clear()
    (now.extend if isinstance(now, (list, deque)) else now.update)(before)


def _read(owner, name):
    if name is None:
        return owner.cell_contents if owner != types.CellType() else _NOTHING
    if isinstance(owner, dict):
        return owner.get(name, _NOTHING)
    return vars(owner).get(name, _NOTHING) if isinstance(owner, (type, types.ModuleType)) else getattr(owner, name, _NOTHING)


def _write(owner, name, value):
    if name is None:
        owner.cell_contents = value
    elif isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _is_same(a, b):
    return a is b or type(a) in _PLAIN and type(a) is type(b) and a == b


def _are_same(now, before):
    if _is_array(now):
        return now.tobytes() == before.tobytes()
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(name in before and _is_same(value, before[name]) for name, value in now.items())
    return now == before if isinstance(now, set) else all(map(_is_same, now, before))


def _generators():
    """How the states of random numbers of the process are asked for and set: Python's, and NumPy's if it is there."""
    numpy = sys.modules.get("numpy")
    return [(random.getstate, random.setstate), *([(numpy.random.get_state, numpy.random.set_state)] if numpy else [])]


def _generators_of(value):
    """The same of a generator."""
    if isinstance(value, random.Random):
        return [(value.getstate, value.setstate)]
    if type(value).__module__.startswith("numpy.random"):
        bits = getattr(value, "bit_generator", None)
        if bits is not None:
            return [(lambda: bits.state, lambda state: setattr(bits, "state", state))]
        if hasattr(value, "get_state"):
            return [(value.get_state, value.set_state)]
    return []
