"""`out=` of functions that are written in Python."""

from __future__ import annotations

import functools

from .. import _core


def takes_out(function):
    """The function with the keyword `out`: a tensor, or as many as there are results, which the results are written to and which are given back."""

    @functools.wraps(function)
    def call(*args, out=None, **options):
        result = function(*args, **options)
        return result if out is None else _written(function.__name__, result, out)

    return call


def _written(name, result, out):
    if isinstance(result, _core.Tensor):
        return _core.clone(result, out=out)
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise TypeError(f"{name}(): out is no tuple of {len(result)} tensors, which the results are")
    written = [_core.clone(part, out=place) for part, place in zip(result, out)]
    return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
