"""Calls that the binding shows before they run: to the thread's function modes, to the classes of the arguments, and to autocast, in this order."""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager

from .. import _core
from .arguments import refuse_argument

_plain_class = _core._disabled_torch_function_impl


class _Thread(threading.local):
    """What this thread has that wants to see calls: function modes, the innermost last, and autocast's change of arguments, if it is enabled."""

    modes = ()
    cast = None


thread = _Thread()


def show():
    """Has the binding show this thread's calls while something wants to see them."""
    _core._watch(bool(thread.modes) or thread.cast is not None, _core._watching()[1])


@contextmanager
def modes(these):
    """The thread's function modes are these in the block."""
    before, thread.modes = thread.modes, tuple(these)
    show()
    try:
        yield
    finally:
        thread.modes = before
        show()


@contextmanager
def casting(cast):
    """Autocast's change of arguments is this in the block; None for none."""
    before, thread.cast = thread.cast, cast
    show()
    try:
        yield
    finally:
        thread.cast = before
        show()


def asks(value):
    """Whether the class of a value has a `__torch_function__` that is to see calls."""
    if type(value) is _core.Tensor:
        return False
    return getattr(type(value), "__torch_function__", _plain_class) is not _plain_class


def overloaded(values):
    """One value of each class that is to see a call with these arguments, in the order in which they are asked: subclasses before their bases, else
    from left to right. Lists and tuples are looked into."""
    found = []
    for value in values:
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if not asks(part) or any(type(part) is type(other) for other in found):
                continue
            place = next((i for i, other in enumerate(found) if issubclass(type(part), type(other))), len(found))
            found.insert(place, part)
    return found


def ask(function, relevant, args, kwargs):
    """What the innermost mode, or else the first class of the relevant arguments, makes of a call; NotImplemented if none takes it."""
    found = overloaded(relevant) if _core._watching()[1] else []
    types = tuple(map(type, found))
    if thread.modes:
        *outer, mode = thread.modes
        with modes(outer):
            result = mode.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in found:
        result = value.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def decide(function, args, kwargs):
    """The result of a call that the binding shows. NotImplemented if modes or classes see it and none takes it."""
    watched = _core._watching()
    if thread.modes or watched[1] and overloaded((*args, *kwargs.values())):
        return ask(function, (*args, *kwargs.values()), args, kwargs)
    if thread.cast is not None:
        args, kwargs = thread.cast(function, args, kwargs)
    _core._watch(False, False)
    try:
        return function(*args, **kwargs)
    finally:
        _core._watch(*watched)


def shown(function):
    """A function that is composed in Python, shown as declared ones are: itself, rather than the calls that it is made of."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        calls, classes = _core._watching()
        if not calls and not (classes and overloaded((*args, *kwargs.values()))):
            try:
                return function(*args, **kwargs)
            except AttributeError as error:
                refuse_argument(function, error, args, kwargs)
                raise
        result = decide(call, args, kwargs)
        if result is NotImplemented:
            raise TypeError(f"{function.__name__}(): every __torch_function__ of the arguments' classes returned NotImplemented")
        return result

    call.is_shown = True
    return call
