"""A graph made by running another."""

from __future__ import annotations

from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter
from .proxy import GraphAppendingTracer, node_of

__all__ = ["Transformer"]


class Transformer(Interpreter):
    """Runs a graph with proxies, so that what its methods do with them becomes another module. Subclasses change what nodes become, as those of
    [`Interpreter`] change what they do.

    >>> class Doubled(opforge.fx.Transformer):
    ...     def call_method(self, target, args, kwargs):
    ...         return super().call_method(target, args, kwargs) * 2
    >>> module = Doubled(opforge.fx.symbolic_trace(lambda x: x.relu() + 1)).transform()
    >>> module(opforge.tensor([3.0])).tolist()
    [7.0]
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = GraphAppendingTracer(self.new_graph)

    def placeholder(self, target, args, kwargs):
        """An input of the new graph."""
        return self.tracer.create_proxy("placeholder", target, args, kwargs)

    def get_attr(self, target, args, kwargs):
        """A parameter or other attribute, read when the new graph runs."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A call of the function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A call of the module below."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self):
        """The module of the new graph, with what it needs of the old one."""
        self.new_graph.output(node_of(self.run()))
        return GraphModule(self.module, self.new_graph)
