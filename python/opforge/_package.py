"""Packages in which a function has the name of the submodule that it is in."""

from __future__ import annotations

import sys
import types


def functions_stay(package: str, *names: str) -> None:
    """Has these names of a package be the functions of their submodules: an import of a submodule, also under another package's name, would put the
    module there."""

    class Package(types.ModuleType):
        def __setattr__(self, name, value):
            is_submodule = name in names and isinstance(value, types.ModuleType)
            super().__setattr__(name, getattr(value, name) if is_submodule else value)

    sys.modules[package].__class__ = Package
