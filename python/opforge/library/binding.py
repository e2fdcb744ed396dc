"""What a call gives, in the order of a schema's parameters."""

from __future__ import annotations

from .. import _core
from .conversion import converter
from .schema import REQUIRED, Schema


def bind(op_name: str, schema: Schema, args, kwargs) -> list:
    """The values of a schema's parameters, with defaults filled in, as their types have them. RuntimeError for calls that do not fit."""
    positional = schema.positional
    if len(args) > len(positional):
        raise _error(op_name, schema, f"takes {len(positional)} arguments by position, not {len(args)}")
    given = dict(zip((parameter.name for parameter in positional), args))
    if twice := given.keys() & kwargs.keys():
        raise _error(op_name, schema, f"two values for argument {min(twice)!r}")
    given |= kwargs
    values = []
    for place, parameter in enumerate(schema.parameters):
        value = given.pop(parameter.name, parameter.default)
        if value is REQUIRED:
            raise _error(op_name, schema, f"misses argument {parameter.name!r}")
        try:
            values.append(converter(parameter.kind)(value))
        except TypeError:
            what = f"argument {parameter.name!r} (position {place}) must be {parameter.kind}, not {described(value)}"
            raise _error(op_name, schema, what) from None
    if given:
        raise _error(op_name, schema, f"unknown argument {min(given)!r}")
    return values


def _error(op_name, schema, reason):
    return RuntimeError(f"{op_name}(): {reason}. Declaration: {schema}")


def described(value):
    """A value in an error: its type, those of a list's items too, and the value unless it is a tensor."""
    if isinstance(value, (list, tuple)) and value:
        return f"{type(value).__name__} of {', '.join(sorted({type(item).__name__ for item in value}))}"
    return type(value).__name__ if isinstance(value, _core.Tensor) else f"{type(value).__name__} {value!r}"


def apart(schema: Schema, values):
    """Values as those that a function is given by position, and those by name."""
    count = len(schema.positional)
    return values[:count], {parameter.name: value for parameter, value in zip(schema.parameters[count:], values[count:])}
