"""Counts of operations, which opforge does not keep: a name for programs that import it. `opforge.profiler` tells times."""

from __future__ import annotations

from .._absent import absent_names

globals().update(absent_names(__name__, "opforge counts no operations; opforge.profiler tells times", classes="FlopCounterMode"))
