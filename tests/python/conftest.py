"""What all tests share."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def _private_cache(tmp_path_factory):
    """Custom operators that tests compile are not kept."""
    os.environ["OPFORGE_CUSTOM_CACHE"] = str(tmp_path_factory.mktemp("custom"))
