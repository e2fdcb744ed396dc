"""What programs ask of, and tell, `opforge.compile`."""

from __future__ import annotations

from .graph import is_compiling, reset

__all__ = ["disable", "is_compiling", "is_dynamo_compiling", "reset"]

is_dynamo_compiling = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """A function as it is. Called while a graph is traced, its calls are part of the graph as any other's."""
    return (lambda fn: fn) if fn is None else fn
