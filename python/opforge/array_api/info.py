"""What the namespace tells of itself."""

from __future__ import annotations

from opforge import _core

from .data_types import KINDS, dtypes_of

_DTYPES = KINDS["bool"] + KINDS["numeric"]
# The core's limit of dimensions.
MAX_RANK = 32


class Info:
    """What `__array_namespace_info__()` returns."""

    __slots__ = ()

    def capabilities(self):
        """What shapes may depend on, and how many axes there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self):
        """Where arrays are made unless a device is given."""
        return _core.get_default_device()

    def default_dtypes(self, *, device=None):
        """The dtypes that arrays get unless one is given."""
        real = _core.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": _core.complex128 if real is _core.float64 else _core.complex64,
            "integral": _core.int64,
            "indexing": _core.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a kind, or of one of a tuple of kinds, by their names: see `isdtype`."""
        if kind is None:
            found = _DTYPES
        elif isinstance(kind, tuple):
            found = [dtype for one in kind for dtype in dtypes_of(one)]
        else:
            found = dtypes_of(kind)
        return {repr(dtype).rpartition(".")[2]: dtype for dtype in found}

    def devices(self):
        """Where arrays can be."""
        return (_core.device("cpu"),)


def __array_namespace_info__():
    """What the namespace offers: capabilities, devices and dtypes."""
    return Info()
