"""What programs ask of, and tell, the tracer behind `compile`. Functions that say how to trace give back what they are given."""

from __future__ import annotations

import contextlib

from .. import compiler
from .._absent import absent_names
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, reset, set_stance, substitute_in_graph
from . import config, eval_frame, utils
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph", "forbid_in_graph", "graph_break",
    "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic",
    "optimize", "reset", "set_stance", "substitute_in_graph",
]  # fmt: skip


def optimize(backend=None, *, nopython=False, **options):
    """A decorator: `opforge.compile`."""
    from ..graph import compile

    return lambda fn: compile(fn, fullgraph=nopython)


def list_backends(exclude_tags=()):
    """The names of compilers to choose from."""
    return compiler.list_backends()


def is_dynamo_supported():
    """Whether `compile` works here."""
    return True


def graph_break(msg=""):
    """Nothing happens: what cannot be traced runs eagerly without being told."""


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Nothing happens: programs are kept for each shape."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t, guard=False):
    """Nothing happens: programs read captured tensors where they lie."""


def forbid_in_graph(fn):
    """A function as it is."""
    return fn


disallow_in_graph = forbid_in_graph


@contextlib.contextmanager
def patch_dynamo_config(**options):
    """A context in which `config` has other values."""
    with config.patch(**options):
        yield


_REASON = "opforge.compile traces by calling; opforge.export writes programs to files, and explain() of a compiled function tells about one"
globals().update(absent_names(__name__, _REASON, functions="export explain register_backend lookup_backend run"))
