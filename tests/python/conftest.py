"""What all tests share."""

import os
import warnings

import pytest
from chosen_device import DEVICE


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory):
    """Custom operators that tests compile are not kept."""
    os.environ["OPFORGE_CUSTOM_CACHE"] = str(tmp_path_factory.mktemp("custom"))


@pytest.fixture
def no_warnings():
    """Warnings are errors, also those that a function runs as it is instead of compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def pytest_ignore_collect(collection_path):
    """Tests of devices need one: test_cuda.py runs them with a driver of the host, `make test-wgpu` by wgpu."""
    import opforge

    needed = {"cuda": "cuda", "wgpu": "wgpu", "devices": DEVICE}.get(collection_path.name)
    return True if needed and not getattr(opforge, needed).is_available() else None
