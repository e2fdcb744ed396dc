"""The fast path of `nn.MultiheadAttention`, whose results are the same. The switch keeps what it is set to and changes nothing."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """What was set."""
    return _enabled


def set_fastpath_enabled(value) -> None:
    """Keeps a value."""
    global _enabled
    _enabled = bool(value)
