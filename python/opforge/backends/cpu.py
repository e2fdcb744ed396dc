"""The processor."""

from __future__ import annotations

import platform


def get_cpu_capability() -> str:
    """The family of the instruction set; kernels choose among its vectors themselves."""
    return "DEFAULT" if platform.machine() in ("x86_64", "AMD64") else platform.machine()
