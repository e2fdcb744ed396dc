"""Libraries that take the arrays of any library of the standard, run with opforge's."""

import importlib.util
import os
import subprocess
import sys

import pytest

import opforge

pytestmark = pytest.mark.skipif(not hasattr(opforge.Tensor, "__array_namespace__"), reason="the extension module is older")


@pytest.mark.parametrize(("library", "calls"), [("scipy", 27), ("sklearn", 39)])
def test_libraries(library, calls):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    folder = os.path.join(os.path.dirname(__file__), "programs")
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run([sys.executable, os.path.join(folder, f"{library}_arrays.py")], env=environment, capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == [str(calls)], run.stderr
