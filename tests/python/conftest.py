"""What all tests share."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory):
    """Custom operators that tests compile are not kept."""
    os.environ["OPFORGE_CUSTOM_CACHE"] = str(tmp_path_factory.mktemp("custom"))


def pytest_ignore_collect(collection_path):
    """Tests of CUDA devices need one: test_cuda.py runs them with a driver of the host."""
    from opforge import cuda

    return True if collection_path.name == "cuda" and not cuda.is_available() else None
