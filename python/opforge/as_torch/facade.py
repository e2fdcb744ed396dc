"""The module `torch`: opforge's names, and PyTorch's version."""

from __future__ import annotations

import types

import opforge

from .._absent.dtypes import finfo
from ..torch_version import __version__
from . import keywords

# What a module knows of itself.
_OWN = {"__name__", "__loader__", "__package__", "__spec__", "__version__", "__doc__", "__builtins__", "__cached__", "__getattr__", "__dir__"}
# Modules whose `__dict__` packages go through: what is imported when it is first used must be there.
_READ_WHOLE = {"opforge.distributions"}


def whole(value):
    """The value; if it is a module that packages read as a whole, with all that it has."""
    if isinstance(value, types.ModuleType) and value.__name__ in _READ_WHOLE:
        for name in dir(value):
            getattr(value, name)
    return value


def make_torch() -> types.ModuleType:
    """A module with opforge's names. Those that opforge imports when they are first used are asked for then, and kept."""
    module = types.ModuleType("torch", "opforge, under PyTorch's name.")
    names = vars(module)
    names.update({name: value for name, value in vars(opforge).items() if name not in _OWN})
    names.update(meshgrid=keywords.meshgrid, finfo=finfo, torch=module)
    keywords.extend_tensor()
    keywords.extend_functions(opforge)

    def __getattr__(name):
        return names.setdefault(name, whole(getattr(opforge, name)))

    names.update(__version__=__version__, __getattr__=__getattr__, __dir__=lambda: sorted({*names, *dir(opforge)}))
    return module
