"""What programs ask of, and tell, `opforge.compile`."""

from __future__ import annotations

import contextlib

from .graph import is_compiling, reset

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "nested_compile_region", "reset", "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

is_dynamo_compiling = is_compiling


def compile(*args, **kwargs):
    """`opforge.compile`."""
    from .graph import compile

    return compile(*args, **kwargs)


def is_exporting() -> bool:
    """Whether PyTorch's export is tracing: never."""
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """A function as it is. Called while a graph is traced, its calls are part of the graph as any other's."""
    return (lambda fn: fn) if fn is None else fn


def allow_in_graph(fn):
    """A function as it is."""
    return fn


assume_constant_result = wrap_numpy = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn, **options):
    """A decorator that gives the function as it is."""
    return allow_in_graph


def list_backends(exclude_tags=()) -> list[str]:
    """The names that `compile` takes for its backend; there is one compiler."""
    return ["inductor"]


def cudagraph_mark_step_begin():
    """Nothing happens: graphs of CUDA's kernels are not recorded."""


@contextlib.contextmanager
def set_stance(stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
    """A context in which nothing is different: programs are traced for what they are called with, in any stance."""
    yield
