"""Between Python's signatures and schemas."""

from __future__ import annotations

import collections.abc
import inspect
import typing

from .. import _core

# What an annotation is called in a schema.
_SCALARS = {bool: "bool", int: "int", float: "float", str: "str"}
_LISTS = (list, tuple, collections.abc.Sequence)


def _type_name(annotation):
    """The schema's name of an attribute's annotation, or None."""
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if typing.get_origin(annotation) not in _LISTS:
        return None
    items = [item for item in typing.get_args(annotation) if item is not Ellipsis]
    inner = _type_name(items[0]) if len(set(items)) == 1 else None
    return inner and inner + "[]"


def _literal(value):
    return repr(list(value) if isinstance(value, tuple) else value)


def schema_of(function, mutates_args=()):
    """The schema that a function's annotations state."""
    signature = inspect.signature(function, eval_str=True)
    name = getattr(function, "__name__", "custom_op")
    unknown = set(mutates_args) - set(signature.parameters)
    if unknown:
        raise _core.ArgumentError(f"custom_op {name}: mutates_args: {sorted(unknown)} (accepted: names of its parameters)")
    letters = {argument: chr(ord("a") + i) for i, argument in enumerate(mutates_args)}
    params, by_name = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not by_name:
            params.append("*")
            by_name = True
        params.append(_param(name, parameter, letters.get(parameter.name)))
    return f"({', '.join(params)}) -> {_results(name, signature.return_annotation)}"


def _param(function, parameter, letter):
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise _core.ArgumentError(f"custom_op {function}: {parameter} (accepted: parameters one by one)")
    if parameter.annotation is _core.Tensor or _is_tensor_class(parameter.annotation):
        return (f"Tensor({letter}!) " if letter else "Tensor ") + parameter.name
    kind = _type_name(parameter.annotation)
    if kind is None:
        accepted = "annotations Tensor, bool, int, float, str, list[int], list[float], list[list[int]], list[list[float]]"
        raise _core.ArgumentError(f"custom_op {function}: parameter {parameter} (accepted: {accepted})")
    default = "" if parameter.default is parameter.empty else f"={_literal(parameter.default)}"
    return f"{kind} {parameter.name}{default}"


def _is_tensor_class(annotation):
    return isinstance(annotation, type) and issubclass(annotation, _core.Tensor)


def _results(function, annotation):
    if annotation is None or annotation is type(None):
        return "()"
    if _is_tensor_class(annotation):
        return "Tensor"
    items = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and items and all(map(_is_tensor_class, items)):
        return f"({', '.join('Tensor' for _ in items)})"
    accepted = "Tensor, tuple[Tensor, ...] with a Tensor for each result, or None"
    raise _core.ArgumentError(f"custom_op {function}: returns {annotation} (accepted: the annotation {accepted})")


class Arguments:
    """Brings the tensors and attributes of a call into the order of a function's parameters, as a schema declares them."""

    def __init__(self, schema):
        params = _core.schema_parameters(schema)
        self.are_tensors = [is_tensor for _, is_tensor, _ in params]
        self._positional = [(name, is_tensor) for name, is_tensor, by_name in params if not by_name]
        self._named = [(name, is_tensor) for name, is_tensor, by_name in params if by_name]

    def of(self, tensors, attributes):
        """A call's arguments: those given by position, and those by name."""
        tensors = iter(tensors)
        positional = [next(tensors) if is_tensor else attributes[name] for name, is_tensor in self._positional]
        return positional, {name: next(tensors) if is_tensor else attributes[name] for name, is_tensor in self._named}
