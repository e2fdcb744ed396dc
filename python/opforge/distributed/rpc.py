"""Calls of functions in other processes, which need process groups."""

from __future__ import annotations

from .._absent import absent_names
from . import _REASON

globals().update(absent_names(__name__, _REASON, functions="init_rpc remote rpc_async rpc_sync shutdown", classes="RRef"))


def is_available() -> bool:
    """Whether there are such calls."""
    return False
