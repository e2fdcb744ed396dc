"""What functions read besides tensors that they are given, as far as it can be found: modules, tensors, numbers and strings."""

from __future__ import annotations

import functools
import sys
import types

from .. import _core
from ..nn.modules.module import Module

# Of classes of objects that hold tensors under names of their own: the names of the dictionaries of an object's children, and of its tensors.
_HOLDERS = {Module: ("_modules", ["_parameters", "_buffers"])}
# How many functions and containers are looked into, one inside of the other, and how long those containers are at most.
_DEPTH = 4
_LENGTH = 256
# What is part of a program as it was when it was traced.
_PLAIN = frozenset({bool, int, float, complex, str, type(None)})


def watch(kind, children, tensors):
    """Has objects of a class watched as modules are, by the names of the dictionaries of one's children of such classes, and of its tensors."""
    _HOLDERS[kind] = children, [tensors]
    _holder.cache_clear()


# Looked up for each object in each call: of some hundred classes the answers are kept.
@functools.lru_cache(256)
def _holder(kind):
    """The names of what objects of a class hold, if they hold tensors under names of their own."""
    return next((_HOLDERS[base] for base in kind.__mro__ if base in _HOLDERS), None)


@functools.lru_cache(256)
def _is_of_users(kind):
    """Whether a class is neither Python's own nor one of classes or modules, whose attributes are not looked into."""
    return not issubclass(kind, (type, types.ModuleType)) and kind.__module__.partition(".")[0] not in sys.stdlib_module_names


def watched(function, objects=()):
    """The modules, tensors, numbers and strings that a function is, is bound to, has in its closure, its defaults, or its code names as globals, and
    that objects hold. Lists are looked into for modules and tensors.
    """
    found, seen = [], set()
    _find(function, _DEPTH, seen, found)
    for value in objects:
        _find(value, _DEPTH, seen, found)
    return found


def _find(value, depth, seen, found, plain=True):
    if type(value) in _PLAIN:
        if plain:
            found.append(value)
        return
    if id(value) in seen:
        return
    if isinstance(value, _core.Tensor) or _holder(type(value)):
        seen.add(id(value))
        found.append(value)
        return
    if depth == 0:
        return
    seen.add(id(value))
    # Numbers in lists are what functions note, rather than what they compute with.
    for part in _parts(value):
        _find(part, depth - 1, seen, found, plain and not isinstance(value, list))


def _parts(value):
    if isinstance(value, types.FunctionType):
        names = value.__globals__
        yield from (names[name] for name in value.__code__.co_names if name in names and not isinstance(names[name], types.ModuleType))
        yield from (cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType())
        yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    elif isinstance(value, types.MethodType):
        yield value.__func__
        yield value.__self__
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, (list, tuple)) and len(value) <= _LENGTH:
        yield from value
    elif isinstance(value, dict) and len(value) <= _LENGTH:
        yield from value.values()
    elif _is_of_users(type(value)):
        yield from getattr(value, "__dict__", {}).values()


def state(roots):
    """What tells apart how modules, tensors and plain values are now: which they are, where elements lie, whether they need gradients, and the plain
    attributes of modules, their modes among them. The modules come with it: as long as they are held no other has their identity.
    """
    return _core._state(roots, _holder)
