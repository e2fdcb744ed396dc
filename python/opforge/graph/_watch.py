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
# Where classes of operators are.
_OPERATORS = tuple(f"{__name__.partition('.')[0]}.{name}" for name in ("ops", "library", "custom", "_core"))
# What is part of a program as it was when it was traced.
_PLAIN = frozenset({bool, int, float, complex, str, type(None)})


def watch(kind, children, tensors):
    """Has objects of a class watched as modules are, by the names of the dictionaries of one's children of such classes, and of its tensors."""
    _HOLDERS[kind] = children, [tensors]
    _holder.cache_clear()


# Looked up for each object in each call: of some hundred classes the answers are kept.
@functools.lru_cache(256)
def _holder(kind):
    """The names of what objects of a class hold, if they hold tensors under names of their own; else whether their attributes are looked into."""
    return next((_HOLDERS[base] for base in kind.__mro__ if base in _HOLDERS), None) or is_of_users(kind)


def is_plain(value):
    """Whether a value is a number, a string or None."""
    return type(value) in _PLAIN


def _is_holder(kind):
    """Whether objects of a class hold tensors under names of their own."""
    return not isinstance(_holder(kind), bool)


@functools.lru_cache(256)
def is_of_users(kind):
    """Whether a class is neither Python's own nor one of classes, modules or operators, whose attributes are not looked into."""
    return not issubclass(kind, (type, types.ModuleType)) and not kind.__module__.startswith(_OPERATORS) and kind.__module__.partition(".")[0] not in sys.stdlib_module_names


def watched(function, objects=()):
    """The modules, tensors, numbers and strings that a function is, is bound to, has in its closure, its defaults, or its code names as globals, and
    that objects hold. Of modules and classes that its code names, what is under its other names is looked at.
    """
    found, seen = [], set()
    _find(function, _DEPTH, seen, found)
    for value in objects:
        _find(value, _DEPTH, seen, found)
    return found


def _find(value, depth, seen, found):
    if type(value) in _PLAIN:
        found.append(value)
        return
    if id(value) in seen:
        return
    if isinstance(value, _core.Tensor) or _is_holder(type(value)):
        seen.add(id(value))
        found.append(value)
        return
    if depth == 0:
        return
    seen.add(id(value))
    for part in _parts(value):
        _find(part, depth - 1, seen, found)


def _parts(value):
    if isinstance(value, types.FunctionType):
        yield from _named(value.__globals__, value.__code__.co_names)
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
    elif is_of_users(type(value)):
        yield from getattr(value, "__dict__", {}).values()


def _named(variables, names):
    """What names stand for, and what they stand for in the modules and classes among that: `K` of `settings.K`."""
    for name in names:
        value = variables.get(name)
        if isinstance(value, (types.ModuleType, type)):
            if _is_users_namespace(value):
                attributes = vars(value)
                yield from (attributes[name] for name in names if name in attributes and not isinstance(attributes[name], types.ModuleType))
        elif name in variables:
            yield value


@functools.lru_cache(1024)
def _is_users_namespace(value):
    """Whether a module or class is neither Python's own nor opforge's."""
    name = (value.__name__ if isinstance(value, types.ModuleType) else value.__module__) or ""
    return name.partition(".")[0] not in {*sys.stdlib_module_names, *sys.builtin_module_names, __name__.partition(".")[0], "builtins", "numpy"} or name == "__main__"


def state(roots):
    """What tells apart how modules, tensors and plain values are now: which they are, where elements lie, whether they need gradients, and the
    attributes of modules, their modes among them; the last of it is of what is no plain value. Modules and other objects come with it: as long as they are held
    no other has their identity.
    """
    return _core._state(roots, _holder, _own_names())


@functools.cache
def _own_names():
    """The attributes that modules have as such."""
    return frozenset(vars(Module()))
