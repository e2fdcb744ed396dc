"""Schemas from the annotations of functions."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing

from .. import _core
from ..types import Number
from .schema import REQUIRED, Parameter, Result, Schema

_KINDS = {_core.Tensor: "Tensor", bool: "bool", int: "int", float: "float", str: "str", Number: "Scalar", _core.dtype: "ScalarType", _core.device: "Device"}
_RESULTS = ("Tensor", "Tensor[]", "int", "float", "bool", "Scalar")
_ACCEPTED = "Tensor, int, float, bool, str, Number, dtype, device, lists and sequences of these, and Optional"


def of_function(function, mutates_args, name: str = "") -> Schema:
    """The schema that a function's annotations state. `mutates_args` names the parameters that it changes; "unknown" stands for all tensors.

    ValueError for what no schema can state: annotations that are missing or of other types, `*args`, names that are no parameters.
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(f'infer_schema(): mutates_args: {mutates_args!r} (accepted: names of parameters, as in ("x",), or "unknown")')
    reader = _Reader(function)
    parameters = tuple(reader.parameters(mutates_args if mutates_args == "unknown" else tuple(mutates_args)))
    results, wraps = reader.results()
    return Schema(parameters, results, name, wraps)


class _Reader:
    """Reads a function's annotations."""

    def __init__(self, function):
        self._signature = inspect.signature(function)
        try:
            self._hints = typing.get_type_hints(function)
        except Exception as error:
            raise self._error(f"annotation that cannot be evaluated: {type(error).__name__}: {error}") from None

    def _error(self, reason):
        return ValueError(f"infer_schema(): {reason}; the function's signature is {self._signature}")

    def parameters(self, changed):
        """A parameter of the schema for each of the function's."""
        if changed != "unknown" and (unknown := sorted(set(changed) - set(self._signature.parameters))):
            raise self._error(f"mutates_args: {unknown} are not among its parameters")
        for place, parameter in enumerate(self._signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise self._error(f"parameter {parameter} (accepted: parameters one by one that have names)")
            kind = self._kind_of(parameter)
            is_changed = kind.startswith("Tensor") if changed == "unknown" else parameter.name in changed
            if is_changed and not kind.startswith("Tensor"):
                raise self._error(f"mutates_args: {parameter.name!r} is {kind} (accepted: tensors and lists of them)")
            alias = f"a{place}!" if is_changed else ""
            yield Parameter(kind, alias, parameter.name, self._default(parameter, kind), parameter.kind is parameter.KEYWORD_ONLY)

    def _kind_of(self, parameter):
        if parameter.annotation is parameter.empty:
            raise self._error(f"parameter {parameter.name!r} has no annotation")
        kind = _kind(self._hints[parameter.name])
        if kind is None:
            raise self._error(f"parameter {parameter.name!r}: annotation {parameter.annotation} (accepted: {_ACCEPTED})")
        return kind

    def _default(self, parameter, kind):
        value = parameter.default
        if value is parameter.empty:
            return REQUIRED
        if value is not None and not isinstance(value, (bool, int, float, str, _core.device, _core.dtype)):
            raise self._error(f"parameter {parameter.name!r}: default {value!r} (accepted: None, a number, text, dtype or device)")
        return _core.device(value) if kind.startswith("Device") and isinstance(value, str) else value

    def results(self):
        """The schema's results, and whether there is one in a tuple."""
        if self._signature.return_annotation is inspect.Signature.empty:
            raise self._error("the return annotation is missing")
        hint = self._hints["return"]
        is_tuple = typing.get_origin(hint) is tuple
        kinds = [_kind(item) for item in typing.get_args(hint)] if is_tuple else [] if hint is type(None) else [_kind(hint)]
        if any(kind not in _RESULTS for kind in kinds) or is_tuple and not kinds:
            raise self._error(f"returns {self._signature.return_annotation} (accepted: Tensor, list[Tensor], int, float, bool, a tuple of these, or None)")
        return tuple(map(Result, kinds)), is_tuple and len(kinds) == 1


def _kind(hint):
    """What an annotation is called in a schema, or None."""
    if isinstance(hint, type) and issubclass(hint, _core.Tensor):
        return "Tensor"
    if hint in _KINDS:
        return _KINDS[hint]
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        present = tuple(item for item in items if item is not type(None))
        inner = _kind(typing.Union[present])
        return None if inner is None or len(present) == len(items) else f"{inner}?"
    if origin in (list, collections.abc.Sequence):
        inner = _kind(items[0])
        return None if inner is None or "[" in inner else f"{inner}[]"
    return None
