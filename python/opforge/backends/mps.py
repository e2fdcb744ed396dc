"""Apple's GPUs, which there are no kernels for."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can be on Apple's GPUs."""
    return False


def is_built() -> bool:
    """Whether there are kernels for them."""
    return False


def is_macos13_or_newer(minor=0) -> bool:
    """Whether the system has them."""
    return False


is_macos_or_newer = is_macos13_or_newer
