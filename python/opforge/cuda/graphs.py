"""Graphs of CUDA's kernels, which are not there: `opforge.compile` has calls run as fewer kernels."""

from __future__ import annotations

from . import devices

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "make_graphed_callables"]


def _refuse(name):
    devices.number(None)
    raise RuntimeError(f"cuda.{name}(): opforge does not record graphs of CUDA's kernels; opforge.compile has calls run as fewer")


class CUDAGraph:
    """A graph of CUDA's kernels: a RuntimeError."""

    def __init__(self, *args, **kwargs):
        _refuse(type(self).__name__)


class graph(CUDAGraph):
    """A context that records one: a RuntimeError."""


def make_graphed_callables(*args, **kwargs):
    """Functions recorded as graphs: a RuntimeError."""
    _refuse("make_graphed_callables")


def graph_pool_handle():
    """Memory that graphs share: a RuntimeError."""
    _refuse("graph_pool_handle")
