"""Programs as graphs of Python's calls, which opforge does not write down: names for packages that import them. `opforge.compile` and `opforge.export` trace
the calls of operators."""

from __future__ import annotations

from .._absent import absent_class, absent_names
from ..nn import Module

_REASON = "opforge does not trace Python's calls; opforge.compile and opforge.export trace those of operators"
_CLASSES = "CodeGen Graph Interpreter Node Proxy Tracer Transformer"
globals().update(absent_names(__name__, _REASON, functions="replace_pattern symbolic_trace", classes=_CLASSES))
GraphModule = absent_class("torch.fx.GraphModule", _REASON, Module)


def wrap(fn_or_name):
    """A function as it is, or its name: it would be a leaf of symbolic traces."""
    return fn_or_name


def has_side_effect(fn):
    """A function as it is."""
    return fn
