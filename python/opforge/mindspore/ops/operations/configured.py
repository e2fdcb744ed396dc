"""Operators whose arguments are partly given when they are made."""

from __future__ import annotations

from inspect import signature

from ...dtype import Type
from ...tensor import adopt
from ..primitive import Primitive


def configured(table, module) -> dict:
    """Classes of operators, of a table of functions: of each, the arguments by name only are given when the operator is made, the others when it is called.

    Those are attributes of the operator as well.
    """
    return {name: _class(name, function, module) for name, function in table.items()}


def _class(name, function, module):
    parameters = signature(function).parameters.values()
    options = {parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}

    def __init__(self, *args, **kwargs):
        if len(args) > len(options) or not kwargs.keys() <= options.keys():
            raise TypeError(f"{name}: arguments {(*args, *kwargs)} (accepted: {', '.join(options) or 'none'})")
        self._options = {**options, **dict(zip(options, args)), **kwargs}
        missing = [key for key, value in self._options.items() if value is Ellipsis]
        if missing:
            raise TypeError(f"{name}: {', '.join(missing)} missing")
        self.__dict__.update(self._options)

    def __call__(self, *args, **kwargs):
        options = {key: value.core if type(value) is Type else value for key, value in self._options.items()}
        return adopt(function(*args, **kwargs, **options))

    given = ", ".join(key if value is Ellipsis else f"{key}={value!r}" for key, value in options.items())
    doc = function.__doc__ or f"`{name}({given})`: an operator of {', '.join(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)}."
    return type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": doc, "__module__": module})
