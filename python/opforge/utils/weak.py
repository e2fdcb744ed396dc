"""References to tensors that do not keep them, and dictionaries by which tensor a key is, not by its elements."""

from __future__ import annotations

import weakref
from collections.abc import MutableMapping

from .._core import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals another one of the same object."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a, b = self(), other()
        return a is b if a is not None and b is not None else self is other

    def __ne__(self, other):
        return not self == other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose keys are compared by identity; an entry goes when nobody else holds its key."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.ref_type = ref_type
        self.data = {}
        data = weakref.ref(self)

        def remove(reference):
            if (dictionary := data()) is not None:
                dictionary.data.pop(reference, None)

        self._remove = remove
        self.update(dict or {})

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        return self.ref_type(key) in self.data

    def __iter__(self):
        return (key for reference in list(self.data) if (key := reference()) is not None)

    def __len__(self):
        return len(self.data)

    def __repr__(self):
        return f"<{type(self).__name__} of {len(self)}>"

    def copy(self):
        """Another dictionary of the same entries."""
        return type(self)(self, self.ref_type)

    def keyrefs(self):
        """The references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: `ref()` is the tensor, or None when it is gone."""

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"TensorWeakRef: expected a Tensor, not {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
