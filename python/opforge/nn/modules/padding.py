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


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """`value` around the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """`value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """`value` around the last three dimensions."""

    _dims = 3


class _ZeroPad(_Pad):
    def forward(self, input):
        return F.pad(input, self.padding, "constant", 0.0)


class ZeroPad1d(_ZeroPad):
    """Zeros around the last dimension."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """The input mirrored at its ends, which are not repeated."""

    _mode, _dims = "reflect", 1


class ReflectionPad2d(_Pad):
    """[`ReflectionPad1d`] of the last two dimensions."""

    _mode, _dims = "reflect", 2


class ReflectionPad3d(_Pad):
    """[`ReflectionPad1d`] of the last three dimensions."""

    _mode, _dims = "reflect", 3


class ReplicationPad1d(_Pad):
    """The ends repeated."""

    _mode, _dims = "replicate", 1


class ReplicationPad2d(_Pad):
    """[`ReplicationPad1d`] of the last two dimensions."""

    _mode, _dims = "replicate", 2


class ReplicationPad3d(_Pad):
    """[`ReplicationPad1d`] of the last three dimensions."""

    _mode, _dims = "replicate", 3


class CircularPad1d(_Pad):
    """The input as if it were a circle."""

    _mode, _dims = "circular", 1


class CircularPad2d(_Pad):
    """[`CircularPad1d`] of the last two dimensions."""

    _mode, _dims = "circular", 2


class CircularPad3d(_Pad):
    """[`CircularPad1d`] of the last three dimensions."""

    _mode, _dims = "circular", 3
