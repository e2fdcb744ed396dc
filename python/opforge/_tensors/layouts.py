"""How elements lie: `layout`, of which opforge has `strided`, `sparse_coo`, `sparse_csr` and `sparse_csc`, and `memory_format`."""

from __future__ import annotations

import functools
import sys


class _Named:
    """A value of which there is one by each name."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        # Programs of PyTorch's compare these texts.
        package = "torch" if "opforge.as_torch" in sys.modules else "opforge"
        return f"{package}.{self._name}"

    def __reduce__(self):
        return _by_name, (self._name,)

    def __deepcopy__(self, memo):
        return self


def _by_name(name):
    return globals()[name]


class layout(_Named):
    """How a tensor keeps its elements: `strided`, `sparse_coo`, `sparse_csr`, `sparse_csc` or `jagged`; the names of other layouts are there to be compared with."""


class memory_format(_Named):
    """In which order a dense tensor's elements lie."""


LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
globals().update({name: layout(name) for name in LAYOUTS} | {name: memory_format(name) for name in FORMATS})
legacy_contiguous_format = globals()["contiguous_format"]

# The number of dimensions of tensors whose channels, the second dimension, may lie last.
_RANKS = {globals()["channels_last"]: 4, globals()["channels_last_3d"]: 5}


def is_dense(tensor) -> bool:
    """Whether all elements are there, one shape for all: neither sparse nor nested."""
    return tensor.layout is globals()["strided"] and not tensor.is_nested


def lies_in(tensor, format) -> bool:
    """Whether a tensor's elements lie one after the other in the order of a memory format."""
    if format not in _RANKS:
        return tensor.is_contiguous()
    return tensor.dim() == _RANKS[format] and tensor.movedim(1, -1).is_contiguous()


def laid_in(tensor, format):
    """The tensor itself if its elements lie in the order of a memory format, otherwise a copy whose do."""
    if format is globals()["preserve_format"] or lies_in(tensor, format):
        return tensor
    if format not in _RANKS:
        return tensor.contiguous()
    if tensor.dim() != _RANKS[format]:
        raise RuntimeError(f"required rank {_RANKS[format]} tensor to use {format._name} format, but got rank {tensor.dim()}")
    return tensor.movedim(1, -1).contiguous().movedim(-1, 1)


def laid_as(made, is_new, *, layout=None, memory_format=None, names=None, pin_memory=False):
    """What a call has made, as PyTorch's keywords for it say; `is_new` where the call made it of nothing but numbers. All memory is the host's: it is never pinned."""
    if layout is not None and layout is not globals()["strided"]:
        raise NotImplementedError(f"layout {layout} (accepted: strided)")
    if names is not None:
        raise NotImplementedError("names (opforge's tensors have no named dimensions)")
    if memory_format is None or memory_format is globals()["preserve_format"]:
        return made
    if not is_new:
        return laid_in(made, memory_format)
    return laid_in(made.detach(), memory_format).requires_grad_(made.requires_grad)


def creates(function):
    """A function that makes a tensor, with PyTorch's keywords for how its elements lie."""

    @functools.wraps(function)
    def create(*args, layout=None, pin_memory=False, memory_format=None, names=None, **options):
        return laid_as(function(*args, **options), True, layout=layout, memory_format=memory_format, names=names, pin_memory=pin_memory)

    return create
