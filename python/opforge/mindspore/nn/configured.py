"""Cells without parameters: functions whose options are given when the cell is made."""

from __future__ import annotations

from inspect import signature

from ..tensor import adopt
from .cell import Cell


def configured(table, module) -> dict:
    """Classes of cells, of a table of functions: of each, the arguments by name only are options, which are attributes of the cell too; the others are given in
    calls."""
    return {name: _class(name, function, module) for name, function in table.items()}


def _class(name, function, module):
    parameters = signature(function).parameters.values()
    options = {parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}

    def __init__(self, *args, **kwargs):
        Cell.__init__(self)
        if len(args) > len(options) or not kwargs.keys() <= options.keys():
            raise TypeError(f"{name}: arguments {(*args, *kwargs)} (accepted: {', '.join(options) or 'none'})")
        self._options = {**options, **dict(zip(options, args)), **kwargs}
        for key, value in self._options.items():
            setattr(self, key, value)

    def construct(self, *args):
        return adopt(function(*args, **self._options))

    given = ", ".join(f"{key}={value!r}" for key, value in options.items())
    doc = f"`{name}({given})`: a cell of {', '.join(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)}."
    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__doc__": doc, "__module__": module})
