"""What functions read besides tensors that they are given, as far as it can be found: variables, attributes, items, and what these are of."""

from __future__ import annotations

import argparse
import functools
import sys
import types
from collections import deque

from .. import _core
from ..nn.modules.module import Module

# Of classes of objects that hold tensors under names of their own: the names of the dictionaries of an object's children, and of its tensors.
_HOLDERS = {Module: ("_modules", ["_parameters", "_buffers"])}
# How many functions, objects and containers are looked into, one inside of the other; how long those containers are at most, and how much is found.
_DEPTH = 6
_LENGTH = 1024
_MOST = 20000
# Where classes of operators and of programs are.
_OPERATORS = tuple(f"{__name__.partition('.')[0]}.{name}" for name in ("ops", "library", "custom", "graph", "_core"))
# What is part of a program as it was when it was traced.
_PLAIN = frozenset({bool, int, float, complex, str, type(None)})
_PACKAGE = __name__.partition(".")[0]


def watch(kind, children, tensors):
    """Has objects of a class watched as modules are, by the names of the dictionaries of one's children of such classes, and of its tensors."""
    _HOLDERS[kind] = children, [tensors]
    _holder.cache_clear()


# Looked up for each class in each call: of some hundred classes the answers are kept.
@functools.lru_cache(256)
def _holder(kind):
    """The names of what objects of a class hold, if they hold tensors under names of their own, and the class's functions; else whether their attributes are looked into."""
    names = next((_HOLDERS[base] for base in kind.__mro__ if base in _HOLDERS), None)
    return is_of_users(kind) if names is None else (*names, [ClassOf(kind)] if _own_classes(kind) else [])


def _is_holder(kind):
    """Whether objects of a class hold tensors under names of their own."""
    return not isinstance(_holder(kind), bool)


def is_plain(value):
    """Whether a value is a number, a string or None."""
    return type(value) in _PLAIN


@functools.lru_cache(256)
def is_of_users(kind):
    """Whether a class is neither Python's own nor one of classes, modules or operators, whose attributes are not looked into."""
    if kind in (argparse.Namespace, types.SimpleNamespace):
        return True
    return not issubclass(kind, (type, types.ModuleType)) and not kind.__module__.startswith(_OPERATORS) and kind.__module__.partition(".")[0] not in sys.stdlib_module_names


class ClassOf:
    """Stands for a class whose objects' methods are called."""

    def __init__(self, kind, names=frozenset()):
        self.kind, self.names = kind, names


def _own_classes(kind):
    """The classes of users among a class and its bases."""
    return [base for base in kind.__mro__ if base is not object and _is_users_namespace(base)]


def _methods(kind, names):
    """What users' classes have under names that calls of an object, or of methods under `names`, use: functions, and what else these name of the class."""
    classes, waiting, seen = _own_classes(kind), ["forward", "__call__", "construct", *names], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for base in classes:
            value = vars(base).get(name)
            if value is None:
                continue
            function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            yield function
            if isinstance(function, types.FunctionType):
                waiting.extend(function.__code__.co_names)
            break


class _Found:
    """What has been found so far, with marks of what it is part of: equal lists are of the same values in the same places."""

    def __init__(self):
        self.roots, self._seen = [], set()

    def visit(self, value, depth=_DEPTH):
        if type(value) in _PLAIN:
            self.roots.append(value)
            return
        if id(value) in self._seen or len(self.roots) > _MOST:
            self.roots.append(id(value))
            return
        self._seen.add(id(value))
        if isinstance(value, _core.Tensor) or _is_holder(type(value)):
            self.roots.append(value)
            return
        if isinstance(value, (list, tuple, dict, set, frozenset, deque)):
            self.roots.append(len(value))
        elif not isinstance(value, (types.MethodType, ClassOf)):
            self.roots.append(value)
        if depth > 0:
            for part in _parts(value):
                self.visit(part, depth - 1)


def watched(function, objects=()):
    """What a function is, is bound to, has in its closure, its defaults, or its code names as globals, and what objects hold: modules, tensors, numbers and strings, and
    what they are in. Of modules and classes that its code names, what is under its other names is looked at."""
    found = _Found()
    found.visit(function)
    for value in objects:
        found.visit(value)
    return found.roots


def _parts(value):
    if isinstance(value, types.FunctionType):
        if not _is_of_users_package(value.__module__):
            return
        code = value.__code__
        yield code
        yield from _named(value.__globals__, code.co_names)
        for cell in value.__closure__ or ():
            if cell != types.CellType():
                yield cell.cell_contents
                if is_of_users(type(cell.cell_contents)):
                    yield ClassOf(type(cell.cell_contents), frozenset(code.co_names))
        yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    elif isinstance(value, types.MethodType):
        yield value.__func__
        yield value.__self__
        yield ClassOf(type(value.__self__), frozenset(value.__func__.__code__.co_names) if isinstance(value.__func__, types.FunctionType) else frozenset())
    elif isinstance(value, ClassOf):
        yield from _methods(value.kind, value.names)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from value if len(value) <= _LENGTH else ()
    elif isinstance(value, dict):
        for name, item in value.items() if len(value) <= _LENGTH else ():
            yield name
            yield item
    elif type(value).__module__ == "numpy":
        yield _of_numpy(value)
    elif is_of_users(type(value)):
        yield from attributes_of(value)


def attributes_of(value):
    """The attributes of an object, those in slots too."""
    yield from getattr(value, "__dict__", {}).values()
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(value, name, None)


def _of_numpy(value):
    """What a small array, or a number of NumPy's, holds."""
    return hash(value.tobytes()) if getattr(value, "nbytes", _LENGTH + 1) <= _LENGTH and value.dtype != object else None


def _named(variables, names):
    """What names stand for, and what they stand for in the modules and classes among that: `K` of `settings.K`."""
    for name in names:
        if name not in variables:
            continue
        value = variables[name]
        if not isinstance(value, (types.ModuleType, type)):
            yield value
            if is_of_users(type(value)):
                yield ClassOf(type(value), frozenset(names))
        elif _is_users_namespace(value):
            attributes = vars(value)
            yield from (attributes[name] for name in names if name in attributes and not isinstance(attributes[name], types.ModuleType))
            if isinstance(value, type):
                yield ClassOf(value, frozenset(names))


@functools.lru_cache(1024)
def _is_users_namespace(value):
    """Whether a module or class is neither Python's own nor opforge's."""
    return _is_of_users_package(value.__name__ if isinstance(value, types.ModuleType) else value.__module__)


@functools.lru_cache(1024)
def _is_of_users_package(name):
    """Whether the name of a module is none of Python's own, opforge's or NumPy's."""
    package = (name or "").partition(".")[0]
    return package == "__main__" or package not in {*sys.stdlib_module_names, *sys.builtin_module_names, _PACKAGE, "builtins", "numpy"}


def state(roots):
    """What tells apart how modules, tensors, values and objects are now: which they are, where elements lie, whether they need gradients, and the
    attributes of modules, their modes among them. The last of it is of what is no plain value. Modules and other objects come with it: as long as they are held
    no other has their identity.
    """
    key, held, functions = _core._state(roots, _holder, _own_names())
    if not functions:
        return key, held
    found = _Found()
    for function in functions:
        found.visit(function)
    further, others, _ = _core._state(found.roots, _holder, _own_names())
    return tuple(zip(key, further)), held + others


@functools.cache
def _own_names():
    """The attributes that modules have as such, but for hooks."""
    return frozenset(name for name in vars(Module()) if "hooks" not in name)
