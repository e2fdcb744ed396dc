"""Batches out of samples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

from ... import _core as _C


def _is_numpy(value) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "__array__")


def _is_namedtuple(value) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _has_numbers(array) -> bool:
    """Whether an array of NumPy has elements that are numbers, not strings or objects."""
    return array.dtype.kind in "biufc"


def _like_mapping(sample, items):
    """A mapping of the sample's kind with other values; a dict if its kind does not allow that."""
    try:
        if isinstance(sample, MutableMapping):
            result = copy.copy(sample)
            result.update(items)
            return result
        return type(sample)(items)
    except TypeError:
        return items


def _like_sequence(sample, items):
    """A sequence of the sample's kind with other items; a list if its kind does not allow that."""
    try:
        if isinstance(sample, MutableSequence):
            result = copy.copy(sample)
            for i, item in enumerate(items):
                result[i] = item
            return result
        return type(sample)(items)
    except TypeError:
        return items


def default_convert(data):
    """Turns the NumPy arrays in a sample into tensors, in whatever containers they are; all else stays as it is."""
    if _is_numpy(data):
        return _C.as_tensor(data) if _has_numbers(data) else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks tensors along a new first dimension."""
    return _C.stack(list(batch))


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stacks arrays of NumPy as tensors. Raises TypeError for arrays of texts and objects."""
    if not _has_numbers(batch[0]):
        raise TypeError(f"default_collate: arrays of dtype {batch[0].dtype} have no tensor")
    return _C.stack([_C.as_tensor(item) for item in batch])


def collate_float_fn(batch, *, collate_fn_map=None):
    """A float64 tensor."""
    return _C.tensor(batch, dtype=_C.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """A tensor of the numbers' dtype."""
    return _C.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """The list or tuple as it is."""
    return batch


# What makes a batch of samples of a type. Programs add their types; NumPy's arrays and containers need no entry.
default_collate_fn_map = {
    _C.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    complex: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch, *, collate_fn_map=None):
    """Makes a batch of samples, a list or a tuple of them, by a function `f(batch, *, collate_fn_map)` for their type.

    The function is that of the first sample's type in the map, or of the first entry that the type is a subclass of. Mappings, named tuples and sequences
    are batched item by item, in containers of their kind (tuples in lists). TypeError for anything else.
    """
    sample, functions = batch[0], collate_fn_map or {}
    function = functions.get(type(sample)) or next((function for kind, function in functions.items() if isinstance(sample, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if _is_numpy(sample):
        return collate_numpy_array_fn(batch)
    if isinstance(sample, Mapping):
        return _like_mapping(sample, {key: collate([item[key] for item in batch], collate_fn_map=collate_fn_map) for key in sample})
    if isinstance(sample, Sequence):
        return _collate_sequences(sample, batch, collate_fn_map)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(sample).__module__}.{type(sample).__qualname__}"
    )


def default_collate(batch):
    """Makes a batch of a list of samples.

    Tensors, arrays and numbers are stacked along a new first dimension (floats as float64); strings and bytes become a list, or a tuple
    where they are items of sequences; mappings, named tuples and sequences are batched item by item, in containers of their kind (tuples in lists).
    TypeError for anything else.

    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _collate_sequences(sample, batch, functions):
    if any(len(item) != len(sample) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [collate(column, collate_fn_map=functions) for column in zip(*batch)]
    if _is_namedtuple(sample):
        return type(sample)(*columns)
    return columns if isinstance(sample, tuple) else _like_sequence(sample, columns)
