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


def test_named_tuples_of_results():
    assert isinstance(opforge.max(opforge.ones(2), 0), opforge.return_types.max)
    with pytest.raises(AttributeError):
        opforge.return_types.nothing
