"""Contexts that set attributes of a module for a while."""

from __future__ import annotations

import contextlib
import sys


def flags_of(module, **defaults):
    """PyTorch's `flags(..)` of a module: a context in which its attributes have other values; what is left out takes its default."""

    @contextlib.contextmanager
    def flags(**given):
        settings = sys.modules[module]
        before = {name: getattr(settings, name) for name in defaults}
        try:
            for name, value in (defaults | given).items():
                setattr(settings, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(settings, name, value)

    return flags
