"""Functions of single places of a batch of scores, evaluated at all places at once.

A function gets the numbers of batch, head, query and key as tensors without dimensions, as PyTorch's `vmap` makes it seem, and may do anything with them. Most
functions are as right for tensors of numbers that are broadcast against each other, which is quick; `doc[b][q]` and `table[h].sum()` are examples of
what is not. So results of broadcasting are taken if they are, at some places, what the function gives for those places alone; else places are lined up in
one dimension, with the same test; and what fails that too is called for each place: right, and very slow.
"""

from __future__ import annotations

from .... import _core

# At how many places results are compared with those of single places, and with those of places that are lined up.
_ALONE, _LINED_UP = 8, 4099
# A step between places that has no factor in common with most lengths.
_STEP = 7919


def evaluate(function, size, scores=None, device=None):
    """What the function gives at each place of `(batch, heads, queries, keys)`, broadcastable to that; `scores`, of this size, is its first argument if
    there are some."""
    device = device if scores is None else scores.device
    count = size[0] * size[1] * size[2] * size[3]
    if count == 0:
        return scores if scores is not None else _core.zeros(size, dtype=_core.bool, device=device)
    some = (_core.arange(min(count, _LINED_UP), device=device) * _STEP + count - 1) % count
    expected = _lined_up(function, size, scores, some)
    alone = some[:_ALONE]
    if expected is None or not _agrees(expected[:_ALONE], _one_by_one(function, size, scores, alone)):
        return _one_by_one(function, size, scores, _core.arange(count, device=device)).reshape(size)
    found = _broadcast(function, size, scores, device)
    if found is not None and _agrees(found.expand(size)[_indices(size, some)], expected):
        return found
    return _lined_up(function, size, scores, _core.arange(count, device=device)).reshape(size)


def _indices(size, places):
    """The numbers of batch, head, query and key of places, which are counted in row-major order."""
    found = []
    for length in reversed(size):
        found.insert(0, places % length)
        places = places // length
    return tuple(found)


def _call(function, scores, indices):
    return function(*indices) if scores is None else function(scores, *indices)


def _agrees(found, expected):
    if found.dtype != expected.dtype:
        return False
    if not found.is_floating_point():
        return _core.equal(found, expected)
    return _core.allclose(found.detach(), expected.detach(), rtol=1e-4, atol=1e-6, equal_nan=True)


def _lined_up(function, size, scores, places):
    """The results at places, in one dimension; None if that is not what the function gives."""
    indices = _indices(size, places)
    try:
        result = _call(function, None if scores is None else scores[indices], indices)
    except Exception:  # what only works for single places may fail in any way
        return None
    return result if isinstance(result, _core.Tensor) and result.shape == places.shape else None


def _broadcast(function, size, scores, device):
    """The result for numbers that are broadcast; None if there is none of a shape that is broadcastable to the size."""
    indices = [_core.arange(length, device=device).reshape([-1 if i == dim else 1 for i in range(4)]) for dim, length in enumerate(size)]
    try:
        result = _call(function, scores, indices)
        result.expand(size)
    except Exception:  # as above
        return None
    return result


def _one_by_one(function, size, scores, places):
    """The results at places, of a call for each."""
    indices = _indices(size, places)
    given = [None] * len(places) if scores is None else scores[indices].unbind()
    return _core.stack([_call(function, score, index) for score, *index in zip(given, *(numbers.unbind() for numbers in indices))])
