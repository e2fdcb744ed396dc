"""The import hook: finds `torch` and `torch.x.y`, and says which version of it is installed.

PyTorch's modules are opforge's: a module is the same object under both names, so that nothing exists twice. What a name promises and opforge lacks is
an error at use (`_absent`), never a made-up value.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys

from ..version import __version__
from .facade import make_torch, whole

# Top-level packages that come with PyTorch, and what they are here.
_PACKAGES = {"torch": "opforge", "functorch": "opforge.func"}


class TorchFinder(importlib.abc.MetaPathFinder):
    """Finds modules of PyTorch's names; stands before all other finders, so that it wins over a PyTorch that is installed."""

    def find_spec(self, fullname, path=None, target=None):
        """Where opforge keeps a module. Raises ModuleNotFoundError for modules of torch that it lacks; None for modules of others."""
        package, dot, rest = fullname.partition(".")
        if package not in _PACKAGES:
            return None
        if fullname == "torch":
            return importlib.machinery.ModuleSpec(fullname, _TopLoader(), origin="opforge", is_package=True)
        name = _PACKAGES[package] + dot + rest
        spec = _find(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named '{fullname}': opforge has no such module", name=fullname)
        is_package = spec.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(name), origin=spec.origin, is_package=is_package)

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        """What `importlib.metadata` tells about the package "torch"."""
        return iter([TorchDistribution()] if context.name in (None, "torch") else [])

    def invalidate_caches(self):
        """Nothing happens: nothing is cached."""


def _find(name):
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None


class _TopLoader(importlib.abc.Loader):
    """Makes the module `torch`."""

    def create_module(self, spec):
        return make_torch()

    def exec_module(self, module):
        pass


class _AliasLoader(importlib.abc.Loader):
    """Gives a module of opforge under another name. It stays what it is: its name, its spec and its one execution are opforge's."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = whole(importlib.import_module(self._name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has put the alias's there

    def is_package(self, fullname):
        return hasattr(sys.modules[self._name], "__path__")

    def get_code(self, fullname):
        """What `python -m` runs."""
        return _find(self._name).loader.get_code(self._name)


class TorchDistribution(importlib.metadata.Distribution):
    """The metadata of an installed package "torch"."""

    _FILES = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: opforge, under PyTorch's name\n",
        "top_level.txt": "\n".join(_PACKAGES) + "\n",
    }

    def read_text(self, filename):
        return self._FILES.get(filename)

    def locate_file(self, path):
        raise FileNotFoundError(f"torch is opforge here: there is no file {path}")
