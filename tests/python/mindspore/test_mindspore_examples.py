"""The examples in the documentation of opforge.mindspore."""

import doctest
import importlib
import pkgutil

import pytest

import opforge.mindspore as ms
from opforge.mindspore import dtype, nn, ops

MODULES = [module.name for module in pkgutil.walk_packages(ms.__path__, "opforge.mindspore.")]


@pytest.mark.parametrize("name", ["opforge.mindspore", *MODULES])
def test_examples(name):
    names = {**vars(ops), **vars(dtype), **vars(nn), "mindspore": ms, "Tensor": ms.Tensor, "Parameter": ms.Parameter}
    assert doctest.testmod(importlib.import_module(name), extraglobs=names).failed == 0
