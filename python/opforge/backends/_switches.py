"""Contexts that set attributes of a module for a while."""

from __future__ import annotations

import contextlib
import sys


def flags_of(module, **defaults):
    """PyTorch's `flags(..)` of a module: a context in which its attributes have other values; what is left out takes its default."""

    @contextlib.contextmanager
    def flags(**given):
        settings = vars(sys.modules[module])
        before = {name: settings[name] for name in defaults}
        settings.update(defaults | given)
        try:
            yield
        finally:
            settings.update(before)

    return flags
