"""opforge's functions by their names: what packages that copy recurrent layers call."""

from __future__ import annotations


def __getattr__(name):
    import opforge

    return getattr(opforge, name)
