"""Derivatives along a direction by dual tensors, under PyTorch's names, which opforge does not have. `opforge.func.jvp` gives such derivatives."""

from __future__ import annotations

from .._absent import absent_names

_FUNCTIONS = "dual_level enter_dual_level exit_dual_level make_dual unpack_dual"
globals().update(absent_names(__name__, "opforge has no dual tensors; opforge.func.jvp gives derivatives along a direction", functions=_FUNCTIONS))
