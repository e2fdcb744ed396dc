"""Graphs: functions that are traced once and run as one kernel.

`opforge.compile` makes one of a function or a module, `opforge.nn.Graph` of a whole step of training.
"""

from .._calls.tracing import is_compiling
from ._compile import CompiledModule, compile
from ._programs import reset
from ._step import Graph

__all__ = ["CompiledModule", "Graph", "compile", "is_compiling", "reset"]
