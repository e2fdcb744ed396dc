"""Apple's GPUs, which are used by wgpu: see `opforge.wgpu`."""

from __future__ import annotations

import platform
import sys

from .. import wgpu as _wgpu


def is_available() -> bool:
    """Whether tensors can be on Apple's GPUs: on machines of theirs, with the package `opforge-wgpu`."""
    return sys.platform == "darwin" and _wgpu.is_available()


def is_built() -> bool:
    """Whether there are kernels for them."""
    return sys.platform == "darwin"


def is_macos13_or_newer(minor=0) -> bool:
    """Whether the system has them."""
    return is_macos_or_newer(13, minor)


def is_macos_or_newer(major, minor=0) -> bool:
    """Whether the system is macOS of that version or later."""
    version = [int(part) for part in platform.mac_ver()[0].split(".") if part.isdigit()]
    return version >= [major, minor] if version else False
