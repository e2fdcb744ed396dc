"""Padding."""

from __future__ import annotations

from .. import functional as F
from .module import Module
from .utils import ntuple


class _Pad(Module):
    """`padding` is a number, or (before, after) of each dimension, the last dimension first."""

    _mode: str
    _dims: int

    def __init__(self, padding):
        super().__init__()
        self.padding = ntuple(2 * self._dims)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """`value` around the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """`value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """`value` around the last three dimensions."""

    _dims = 3


class _ZeroPad:
    """Before a class of constant padding: with zeros."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros around the last dimension."""

    _dims = 1


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions."""

    _dims = 2


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions."""

    _dims = 3


class _ReflectionPadNd(_Pad):
    pass


class ReflectionPad1d(_ReflectionPadNd):
    """The input mirrored at its ends, which are not repeated."""

    _mode, _dims = "reflect", 1


class ReflectionPad2d(_ReflectionPadNd):
    """[`ReflectionPad1d`] of the last two dimensions."""

    _mode, _dims = "reflect", 2


class ReflectionPad3d(_ReflectionPadNd):
    """[`ReflectionPad1d`] of the last three dimensions."""

    _mode, _dims = "reflect", 3


class _ReplicationPadNd(_Pad):
    pass


class ReplicationPad1d(_ReplicationPadNd):
    """The ends repeated."""

    _mode, _dims = "replicate", 1


class ReplicationPad2d(_ReplicationPadNd):
    """[`ReplicationPad1d`] of the last two dimensions."""

    _mode, _dims = "replicate", 2


class ReplicationPad3d(_ReplicationPadNd):
    """[`ReplicationPad1d`] of the last three dimensions."""

    _mode, _dims = "replicate", 3


class _CircularPadNd(_Pad):
    pass


class CircularPad1d(_CircularPadNd):
    """The input as if it were a circle."""

    _mode, _dims = "circular", 1


class CircularPad2d(_CircularPadNd):
    """[`CircularPad1d`] of the last two dimensions."""

    _mode, _dims = "circular", 2


class CircularPad3d(_CircularPadNd):
    """[`CircularPad1d`] of the last three dimensions."""

    _mode, _dims = "circular", 3
