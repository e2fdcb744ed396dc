"""Dual numbers, by which PyTorch differentiates forward. There are none here: `opforge.func.jvp` gives the same derivatives, of functions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

from .._absent import absent_function

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, None if it has none."""

    primal: object
    tangent: object


def unpack_dual(tensor, *, level=None):
    """A tensor's primal and tangent: itself and None, as no tensor is a dual number."""
    return UnpackedDualTensor(tensor, None)


make_dual = absent_function("torch.autograd.forward_ad.make_dual", "tensors carry no tangents; use torch.func.jvp")


@contextmanager
def dual_level():
    """A block for dual numbers, of which none can be made."""
    yield 0


def enter_dual_level():
    """Enters such a block; gives its number."""
    return 0


def exit_dual_level(*, level=None):
    """Leaves such a block."""
