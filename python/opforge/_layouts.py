"""How elements lie: `layout`, of which opforge has the strided one, and `memory_format`."""

from __future__ import annotations


class _Named:
    """A value of which there is one by each name."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"opforge.{self._name}"

    def __reduce__(self):
        return self._name


class layout(_Named):
    """How a tensor keeps its elements. All tensors are `strided`; the names of sparse layouts are there to be compared with."""

    __module__ = "opforge"


class memory_format(_Named):
    """In which order a dense tensor's elements lie."""

    __module__ = "opforge"


LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
globals().update({name: layout(name) for name in LAYOUTS} | {name: memory_format(name) for name in FORMATS})
