"""Constants."""

from __future__ import annotations

from math import e, inf, nan, pi

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

newaxis = None
