"""The submodules and lazy names of the package."""

import importlib

import pytest

import opforge
from opforge._names import LAZY, SUBMODULES


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules_import(name):
    assert getattr(opforge, name) is importlib.import_module(f"opforge.{name}")


@pytest.mark.parametrize("name", LAZY)
def test_lazy_names_are_there(name):
    assert getattr(opforge, name) is not None
