"""Arguments and results taken apart: tensors, and what they stand in."""

from __future__ import annotations

import copy

from .. import _core
from .._calls import intercept as _intercept

_Tensor = _core.Tensor


class NoStructure(TypeError):
    """A value that cannot be told from others, because something in it has no hash, or decides what calls do."""


class Structure:
    """What a value is besides its tensors. Equal structures have equal keys: of a tensor `Tensor`, of tuples and lists their class and the keys of items, of
    dictionaries names too, of other objects their class and themselves, but for the text of a number with zeros below 0."""

    __slots__ = ("key", "others", "_like")

    def __init__(self, key, others, like):
        self.key = key
        # The objects that are neither tensors nor plain.
        self.others = others
        # Empty mappings, in order, like those that are more than dictionaries.
        self._like = like

    def build(self, tensors):
        """The value, with these tensors."""
        return _built(self.key, iter(tensors), iter(self._like))

    def is_of(self, value, tensors):
        """Whether a value is what `build` gave with these tensors, not changed since."""
        try:
            found, structure = flatten(value)
        except NoStructure:
            return False
        return structure.key == self.key and len(found) == len(tensors) and all(a is b for a, b in zip(found, tensors))


def flatten(value):
    """The tensors of a value, in order, and its structure. Tuples, lists and dictionaries are looked into; other objects are parts of the structure.

    Raises NoStructure for an object without a hash, and for a tensor whose class decides calls.
    """
    parts = _Parts()
    key = parts.key(value, 0)
    return parts.tensors, Structure(key, parts.others, parts.like)


def once(tensors):
    """Each of these tensors once, and for all of them their places among those; None if each is another."""
    places = {}
    for tensor in tensors:
        places.setdefault(id(tensor), len(places))
    if len(places) == len(tensors):
        return tensors, None
    return list({id(tensor): tensor for tensor in tensors}.values()), tuple(places[id(tensor)] for tensor in tensors)


class _Parts:
    """What a value is made of, in order."""

    __slots__ = ("tensors", "others", "like")

    def __init__(self):
        self.tensors, self.others, self.like = [], [], []

    def key(self, value, depth):
        """The key of a value with so many containers around it."""
        return _core._structure_key(value, self.tensors, self._key_of_other, depth)

    def _key_of_other(self, value, depth):
        if isinstance(value, _Tensor):
            if _intercept.asks(value):
                raise NoStructure(f"{type(value).__name__} has a __torch_function__")
            self.tensors.append(value)
            return _Tensor
        if isinstance(value, dict):
            # Its own items are not held: what nobody holds after a trace is the graph's alone.
            self.like.append(_filled(value, dict.fromkeys(value)))
            return type(value), tuple([(name, self.key(item, depth + 1)) for name, item in value.items()])
        if isinstance(value, (list, tuple)):
            return type(value), tuple([self.key(item, depth + 1) for item in value])
        try:
            hash(value)
        except TypeError as error:
            raise NoStructure(str(error)) from None
        self.others.append(value)
        return type(value), value


def _built(key, tensors, like):
    if key is _Tensor:
        return next(tensors)
    kind, content = key
    if kind is dict:
        return {name: _built(item, tensors, like) for name, item in content}
    if issubclass(kind, dict):
        mapping = next(like)
        return _filled(mapping, {name: _built(item, tensors, like) for name, item in content})
    if issubclass(kind, (list, tuple)):
        items = [_built(item, tensors, like) for item in content]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)
    return kind(content) if kind in (float, complex) else content


def _filled(mapping, items):
    """The items in a mapping like this one."""
    filled = copy.copy(mapping)
    filled.update(items)
    return filled
