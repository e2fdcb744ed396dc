"""The kinds of containers that trees are made of, and what takes each apart."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Callable, NamedTuple

from .._tensors.size import Size

Context = PyTree = KeyEntry = Any
KeyPath = tuple


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The way to an item of a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The item."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The way to a value of a mapping."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The value."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The way to an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The attribute."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """What takes a kind of container apart, into children and what else it is, and puts it together."""

    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None


_COUNTS = ("n_sequence_fields", "n_fields", "n_unnamed_fields")
SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None
):
    """Has trees look into a class: `flatten_fn(obj)` gives children and context, `unflatten_fn(children, context)` an object.

    Raises ValueError for a class that is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def register_constant(cls):
    """Has trees take instances of a class for a part of the structure, without leaves."""
    register_pytree_node(cls, lambda value: ([], value), lambda _, value: value)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Has trees look into a data class, whose fields are its children."""
    dropped = set(drop_field_names or ())
    names = list(field_names or (f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped))
    register_pytree_node(
        cls,
        lambda obj: ([getattr(obj, name) for name in names], names),
        lambda children, names: cls(**dict(zip(names, children))),
        flatten_with_keys_fn=lambda obj: ([(GetAttrKey(name), getattr(obj, name)) for name in names], names),
    )


def is_namedtuple_class(cls) -> bool:
    """Whether it is a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj) -> bool:
    """Whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj) -> bool:
    """Whether it is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls) -> bool:
    """Whether it is a class of tuples with names as C makes them, such as `time.struct_time`."""
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and all(isinstance(getattr(cls, name, None), int) for name in _COUNTS)


def is_structseq_instance(obj) -> bool:
    """Whether it is a tuple with names as C makes them."""
    return is_structseq_class(type(obj))


def kind_of(tree):
    """The class that an object is taken apart as, or None for a leaf."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    return collections.namedtuple if is_namedtuple_class(kind) else None


def _items(sequence):
    return [(SequenceKey(i), item) for i, item in enumerate(sequence)]


# PyTorch's names: packages register their own containers by them.
def _list_flatten(value):
    return list(value), None


def _list_unflatten(items, context):
    return list(items)


def _list_flatten_with_keys(value):
    return _items(value), None


def _tuple_unflatten(items, context):
    return tuple(items)


_tuple_flatten, _tuple_flatten_with_keys = _list_flatten, _list_flatten_with_keys


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d):
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _register(kind, flatten, unflatten, with_keys):
    register_pytree_node(kind, flatten, unflatten, flatten_with_keys_fn=with_keys)


_register(list, _list_flatten, _list_unflatten, _list_flatten_with_keys)
_register(tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys)
# A shape comes back as a tuple, for what stands for its lengths may be anything.
_register(Size, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys)
_register(
    collections.deque, lambda value: (list(value), value.maxlen), collections.deque, lambda value: (_items(value), value.maxlen)
)
_register(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
_register(
    collections.OrderedDict, _dict_flatten, lambda items, keys: collections.OrderedDict(zip(keys, items)), _dict_flatten_with_keys
)
_register(
    collections.defaultdict,
    lambda value: (list(value.values()), [value.default_factory, list(value)]),
    lambda items, context: collections.defaultdict(context[0], zip(context[1], items)),
    _dict_flatten_with_keys,
)
_register(
    collections.namedtuple,
    lambda value: (list(value), type(value)),
    lambda items, kind: kind(*items),
    lambda value: ([(GetAttrKey(name), getattr(value, name)) for name in value._fields], type(value)),
)
