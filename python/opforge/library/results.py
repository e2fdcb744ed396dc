"""What operators' functions give, checked against schemas."""

from __future__ import annotations

import functools

from .. import _core
from .binding import described
from .conversion import converter


def spread(op_name, schema, result):
    """A function's result as a list of as many values as the schema has results. RuntimeError if it is another."""
    if not schema.results:
        if result is not None:
            raise RuntimeError(f"{op_name}(): its function gave {described(result)} (accepted: None, for its schema is {schema})")
        return []
    values = (result,) if not schema.gives_tuple else result
    if not isinstance(values, (tuple, list)) or len(values) != len(schema.results):
        raise RuntimeError(f"{op_name}(): its function gave {described(result)} (accepted: {len(schema.results)} values, for its schema is {schema})")
    return [_checked(op_name, schema, place, value) for place, value in enumerate(values)]


def _checked(op_name, schema, place, value):
    """A result of the schema's type; None stands for a tensor that is not there."""
    kind = schema.results[place].kind
    try:
        return value if value is None and kind == "Tensor" else converter(kind)(value)
    except TypeError:
        raise RuntimeError(f"{op_name}(): result {place} of its function is {described(value)} (accepted: {kind}, for its schema is {schema})") from None


def joined(schema, values):
    """What a call returns: the value, a tuple of them, or None for none."""
    return tuple(values) if schema.gives_tuple else values[0] if values else None


def tensors_in(*values):
    """The tensors among values, those in lists and tuples too."""
    found = []
    for value in values:
        if isinstance(value, _core.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(item for item in value if isinstance(item, _core.Tensor))
    return found


def of_own_memory(op_name, schema, function):
    """The function, with a RuntimeError for results that share memory with arguments or each other where the schema states no such thing."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        result = function(*args, **kwargs)
        known = {tensor.untyped_storage() for tensor in tensors_in(*args, *kwargs.values())}
        for place, (declared, value) in enumerate(zip(schema.results, result if schema.gives_tuple else (result,))):
            storages = [tensor.untyped_storage() for tensor in tensors_in(None if declared.alias else value)]
            if not known.isdisjoint(storages) or len(set(storages)) < len(storages):
                raise RuntimeError(f"{op_name}(): result {place} shares memory with an argument or another result (accepted: memory of its own, as of clone())")
            known.update(storages)
        return result

    return checked
