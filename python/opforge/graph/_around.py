"""What a function can change of what it finds around it: attributes, items of lists, dictionaries and sets, variables, and Python's random numbers."""

from __future__ import annotations

import random
import sys
import types
from collections import deque
from collections.abc import Iterator

from .. import _core
from ._watch import is_of_users, is_plain

# How many functions, objects and containers are looked into, one inside of the other.
_DEPTH = 8
# Longer containers hold data rather than state.
_LENGTH = 4096


class Around:
    """What is around a function and objects that it is given, as it is now."""

    def __init__(self, function, objects=()):
        self._seen = set()
        self._before = []  # containers with copies of them
        self._generators = _generators()  # how states of random numbers are asked for and set
        self.has_iterators = False
        self._cells = []  # variables of closures, with what they hold
        self._globals = []  # namespaces, names and values
        for value in (function, *objects):
            self._visit(value, _DEPTH)
        self._random = [getter() for getter, _ in self._generators]

    def _visit(self, value, depth):
        if is_plain(value) or isinstance(value, (_core.Tensor, type, types.ModuleType)) or depth == 0 or id(value) in self._seen:
            return
        self._seen.add(id(value))
        for part in self._parts(value):
            self._visit(part, depth - 1)

    def _parts(self, value):
        """What is in a value, which is noted if it can change."""
        if isinstance(value, types.FunctionType):
            return self._variables(value)
        if isinstance(value, types.MethodType):
            return value.__self__, value.__func__
        if isinstance(value, (dict, list, set, tuple, deque)) and len(value) > _LENGTH:
            return ()
        if isinstance(value, (dict, list, set, deque)):
            self._before.append((value, value.copy()))
            return list(value.values() if isinstance(value, dict) else value)
        if isinstance(value, tuple):
            return value
        self._generators.extend(_generators_of(value))
        self.has_iterators |= isinstance(value, Iterator)
        attributes = getattr(value, "__dict__", None) if is_of_users(type(value)) else None
        return () if attributes is None else (attributes,)

    def _variables(self, function):
        names = function.__globals__
        for name in function.__code__.co_names:
            if name in names:
                self._globals.append((names, name, names[name]))
                yield names[name]
        for cell in function.__closure__ or ():
            if cell != types.CellType():
                self._cells.append((cell, cell.cell_contents))
                yield cell.cell_contents
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())

    def has_changed(self):
        """Whether anything but tensors' elements is another."""
        return (
            any(not _are_same(now, before) for now, before in self._before)
            or any(cell == types.CellType() or not _is_same(cell.cell_contents, value) for cell, value in self._cells)
            or any(name not in names or not _is_same(names[name], value) for names, name, value in self._globals)
        )

    def has_drawn(self):
        """Whether random numbers of Python's or NumPy's were drawn."""
        return str([getter() for getter, _ in self._generators]) != str(self._random)

    def restore(self):
        """Makes everything what it was."""
        for now, before in self._before:
            if _are_same(now, before):
                continue
            now.clear()
            (now.extend if isinstance(now, (list, deque)) else now.update)(before)
        for cell, value in self._cells:
            cell.cell_contents = value
        for names, name, value in self._globals:
            names[name] = value
        for (_, setter), state in zip(self._generators, self._random):
            setter(state)


def _is_same(a, b):
    return a is b or is_plain(a) and type(a) is type(b) and a == b


def _are_same(now, before):
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
