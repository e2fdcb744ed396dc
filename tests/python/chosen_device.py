"""The device that the tests of `devices/` are about."""

import os

DEVICE = os.environ.get("OPFORGE_DEVICE", "cuda")
