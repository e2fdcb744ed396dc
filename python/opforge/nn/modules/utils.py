"""Arguments that are a number or one for each dimension."""

from __future__ import annotations


def ntuple(n):
    """A function that repeats a number `n` times and passes a sequence on as a tuple."""

    def parse(x):
        return (x,) * n if isinstance(x, (int, float)) or not hasattr(x, "__iter__") else tuple(x)

    return parse


_ntuple = ntuple  # packages have it under PyTorch's name
_single, _pair, _triple, _quadruple = ntuple(1), ntuple(2), ntuple(3), ntuple(4)
