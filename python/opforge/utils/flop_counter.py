"""Counts of floating-point operations, which opforge does not keep: names for programs that import them."""

from __future__ import annotations

from .._absent import absent_names

globals().update(absent_names(__name__, "opforge does not count operations", functions="register_flop_formula", classes="FlopCounterMode"))
