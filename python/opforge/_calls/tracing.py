"""Whether this thread is tracing a graph, and errors of what graphs cannot hold."""

from __future__ import annotations

import threading


class _Thread(threading.local):
    tracing = False


thread = _Thread()


class NotAGraph(RuntimeError):
    """What a traced function does and a graph cannot: a compiled function then runs as it is."""


def is_compiling():
    """Whether this thread is tracing a graph."""
    return thread.tracing


def refuse(reason):
    """Raises NotAGraph if this thread is tracing a graph."""
    if thread.tracing:
        raise NotAGraph(reason)
