"""Functions that PyTorch has removed, whose names packages still find: a call says what to use."""

from __future__ import annotations

_NOW = {
    "eig": "linalg.eig",
    "lstsq": "linalg.lstsq",
    "matrix_rank": "linalg.matrix_rank",
    "solve": "linalg.solve",
    "symeig": "linalg.eigh",
}


def _removed(name, now):
    def function(*args, **kwargs):
        raise RuntimeError(f"torch.{name} was deprecated and has been removed: use torch.{now} instead")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Removed: see `{now}`."
    return function


globals().update({name: _removed(name, now) for name, now in _NOW.items()})
