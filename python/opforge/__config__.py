"""How opforge was built, as text."""

from __future__ import annotations

from . import version

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A line for each thing that programs look for."""
    return f"opforge {version.opforge}\n  - USE_CUDA=OFF, USE_MKL=OFF, USE_MKLDNN=OFF, USE_OPENMP=OFF\n"


def parallel_info() -> str:
    """The number of threads."""
    from ._core import get_num_threads

    return f"threads of opforge's own pool: {get_num_threads()}\n"
