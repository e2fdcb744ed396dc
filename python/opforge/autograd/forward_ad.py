"""Derivatives that are carried forward with the values. No tensor carries one here: `opforge.func.jvp` computes such derivatives."""

from __future__ import annotations

import typing

from .._absent import absent_names

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_REASON = "opforge's tensors carry no tangents; opforge.func.jvp computes derivatives in a direction"
globals().update(absent_names(__name__, _REASON, functions="dual_level enter_dual_level exit_dual_level make_dual"))


class UnpackedDualTensor(typing.NamedTuple):
    """A value and its derivative, or None."""

    primal: typing.Any
    tangent: typing.Any


def unpack_dual(tensor, *, level=None):
    """The tensor, which carries no derivative: None."""
    return UnpackedDualTensor(tensor, None)
