"""`out=` of functions that are written in Python."""

from __future__ import annotations

import functools

from .. import _core


def takes_out(function):
    """The function with the keyword `out`, as declared ones have it: a tensor, or a tuple of as many as there are results. All are written or none."""

    @functools.wraps(function)
    def call(*args, out=None, **options):
        result = function(*args, **options)
        return result if out is None else _core._write_out(function.__name__, out, result)

    return call
