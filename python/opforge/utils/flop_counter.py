"""Counts of floating-point operations, which opforge does not keep: a counter can be made, and has counted nothing."""

from __future__ import annotations

from .._absent import absent_names

_REASON = "opforge does not count operations"
globals().update(absent_names(__name__, _REASON, functions="register_flop_formula"))


class FlopCounterMode:
    """A counter, for programs that make one before they know whether it is wanted. To count with it is a NotImplementedError."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        pass

    def __enter__(self):
        raise NotImplementedError(f"FlopCounterMode: {_REASON}")

    def __exit__(self, *exception):
        return None

    def get_total_flops(self) -> int:
        """What was counted: 0."""
        return 0

    def get_flop_counts(self) -> dict:
        """What was counted in each module: nothing."""
        return {}
