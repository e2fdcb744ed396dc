"""The version of PyTorch whose interface opforge has, and what a build is tied to."""

from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "opforge", "rocm", "xpu"]

from ._core import __version__ as opforge

__version__ = "2.15.0+opforge"
debug = False
git_version = "unknown"
# A build is tied to no version of these: drivers and compilers are looked for when programs run.
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
