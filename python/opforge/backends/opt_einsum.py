"""The package opt_einsum, which `einsum` does not use. Its switches keep what they are set to and change nothing."""

from __future__ import annotations

enabled, strategy = False, None


def is_available() -> bool:
    """Whether `einsum` can use it."""
    return False
