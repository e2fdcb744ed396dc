"""Structures of arguments and results as JSON: tuples, lists and dictionaries of tensors, and what is neither.

    {"tensor": null}                 the next tensor
    {"tuple": [item, ..]}            also "list"
    {"returned": [name, [item, ..]]} a named tuple of `return_types`
    {"dict": [[key, item], ..]}      keys are strings, integers or truth values
    {"dataclass": [name, [item, ..]]} a class that `register_dataclass` was given, and its fields
    {"value": 2}                     a string, an integer, a truth value or null
    {"float": "0x1.8p+0"}            a float, to the bit
"""

from __future__ import annotations

from .. import _core, return_types
from ._dataclasses import Fields, named

_SEQUENCES = {"tuple": tuple, "list": list}
_PLAIN = (str, int, bool, type(None))


def encode(key, what):
    """The structure of this key, which `flatten` made."""
    if key is _core.Tensor:
        return {"tensor": None}
    kind, content = key
    if kind is dict:
        for name, _ in content:
            if type(name) not in (str, int, bool):
                raise TypeError(f"export(): {what} hold a dictionary with the key {name!r}; strings, integers and truth values can be saved")
        return {"dict": [[name, encode(item, what)] for name, item in content]}
    for name, sequence in _SEQUENCES.items():
        if kind is sequence:
            return {name: [encode(item, what) for item in content]}
    if issubclass(kind, Fields):
        return {"dataclass": [kind.name, [encode(item, what) for item in content]]}
    if kind.__name__ in dir(return_types) and kind is getattr(return_types, kind.__name__):
        return {"returned": [kind.__name__, [encode(item, what) for item in content]]}
    if kind is float:
        return {"float": float(content).hex()}
    if kind in _PLAIN:
        return {"value": content}
    raise TypeError(
        f"export(): {what} hold a {kind.__qualname__}; tensors, numbers, strings and None in tuples, lists and dictionaries can be saved"
    )


def decode(tree, tensors):
    """The value of a structure, with the next of these tensors."""
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ValueError(f"{tree!r} is no structure")
    ((kind, content),) = tree.items()
    if kind == "tensor":
        return _next(tensors)
    if kind in _SEQUENCES and isinstance(content, list):
        return _SEQUENCES[kind](decode(item, tensors) for item in content)
    if kind == "dict" and isinstance(content, list):
        return {_key(pair): decode(pair[1], tensors) for pair in content}
    if kind == "returned":
        return _returned(content, tensors)
    if kind == "dataclass":
        return _dataclass(content, tensors)
    if kind == "float" and isinstance(content, str):
        return float.fromhex(content)
    if kind == "value" and isinstance(content, _PLAIN):
        return content
    raise ValueError(f"{kind!r} is no kind of structure with {type(content).__name__}")


def _returned(content, tensors):
    match content:
        case [str(name), list(items)] if name in dir(return_types):
            kind = getattr(return_types, name)
            if issubclass(kind, tuple) and len(items) == len(kind._fields):
                return kind(*(decode(item, tensors) for item in items))
    raise ValueError(f"{content!r} is no named tuple of return_types")


def _dataclass(content, tensors):
    match content:
        case [str(name), list(items)] if len(items) == len(named(name).fields):
            return named(name)(decode(item, tensors) for item in items)
    raise ValueError(f"{content!r} is no data class with its fields")


def count(tree):
    """How many tensors a structure has. Raises ValueError if it is none."""
    taken = 0

    def each():
        nonlocal taken
        while True:
            taken += 1
            yield None

    decode(tree, each())
    return taken


def _next(tensors):
    for tensor in tensors:
        return tensor
    raise ValueError("a structure of more tensors than there are")


def _key(pair):
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], (str, int)):
        raise ValueError(f"{pair!r} is no key with a value")
    return pair[0]
