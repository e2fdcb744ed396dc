"""The fast path of transformers in evaluation: while it is on, `nn.TransformerEncoder` gives 0 at padded positions, as PyTorch's does."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` set last."""
    return _enabled


def set_fastpath_enabled(value) -> None:
    """Keeps a value."""
    global _enabled
    _enabled = bool(value)
