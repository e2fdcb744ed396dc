"""Functions whose arguments the core takes in another form."""

from __future__ import annotations

from . import _core


def tensordot(a, b, dims=2, *, out=None):
    """The products over dimensions of `a` and `b`, summed: over the last `dims` of `a` and the first of `b`, or over the pairs that two lists
    of dimensions name."""
    if isinstance(dims, _core.Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (tuple, list)):
        return _core.tensordot(a, b, dims, out=out)
    dims_a, dims_b = dims
    return _core.tensordot_over(a, b, dims_a, dims_b, out=out)
