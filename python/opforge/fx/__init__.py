"""Programs as graphs of Python's calls, which programs can read and change: `symbolic_trace` calls a module with values that write down what is done.

>>> class Net(opforge.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.linear = opforge.nn.Linear(2, 3)
...     def forward(self, x):
...         return self.linear(x).relu() + 1
>>> [node.op for node in symbolic_trace(Net()).graph.nodes]
['placeholder', 'call_module', 'call_method', 'call_function', 'output']

Graphs that run as one kernel are `opforge.compile`'s; these run as the Python that `GraphModule.code` shows.
"""

from __future__ import annotations

from .._absent import absent_names
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter
from .node import Node, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern
from .tracer import Tracer, symbolic_trace, wrap
from .transformer import Transformer

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace",
    "wrap",
]  # fmt: skip

globals().update(absent_names(__name__, "change the graph's nodes", classes="CodeGen"))


def has_side_effect(fn):
    """A function as it is."""
    return fn
