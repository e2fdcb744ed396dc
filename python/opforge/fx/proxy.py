"""Values that write down what is done with them."""

from __future__ import annotations

import dis
import operator
import sys

from .. import _core
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program that looks at a value which is known only when it runs."""


class Proxy:
    """A value that will be there when the program runs."""

    def __init__(self, node, tracer=None):
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Writes down a call of a function, or of a method of tensors."""
        proxies = []
        map_aggregate((args, kwargs or {}), lambda value: proxies.append(value) if isinstance(value, Proxy) else None)
        tracer = proxies[0].tracer
        if func is _core.einsum and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])  # packages read the operands of such steps one by one, as in PyTorch's graphs
        is_method = hasattr(func, "__objclass__")
        return tracer.create_proxy(*(("call_method", func.__name__) if is_method else ("call_function", func)), args, kwargs or {})

    def __getattr__(self, name):
        return Attribute(self, name)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        """The items, where they are assigned to names, whose number is theirs: `n, c = x.shape`. Elsewhere their number is not known: a TraceError."""
        frame = sys._getframe(1)
        code, place = frame.f_code.co_code, frame.f_lasti
        if place < 0 or dis.opname[code[place]] != "UNPACK_SEQUENCE":
            raise TraceError("Proxy object cannot be iterated. Its length is known only when the program runs")
        return iter([self[i] for i in range(code[place + 1])])

    def __bool__(self):
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, call fx.wrap('len')")

    def __repr__(self):
        return f"Proxy({self.node.name})"


class Attribute(Proxy):
    """An attribute of a value: a method if it is called, else it is read when the program runs."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        """The step that reads it."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


_OPERATORS = """
add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge neg pos abs invert getitem
"""
_REFLECTED = "add sub mul truediv floordiv mod pow matmul and_ or_ xor"


def _written(function, reflected=False):
    def method(self, *args):
        return self.tracer.create_proxy("call_function", function, (*args, self) if reflected else (self, *args), {})

    return method


for _name in _OPERATORS.split():
    setattr(Proxy, f"__{_name.strip('_')}__", _written(getattr(operator, _name)))
for _name in _REFLECTED.split():
    setattr(Proxy, f"__r{_name.strip('_')}__", _written(getattr(operator, _name), True))
Proxy.__hash__ = object.__hash__


def node_of(value):
    """The value with nodes in the place of proxies."""
    return map_aggregate(value, lambda item: item.node if isinstance(item, Proxy) else item)


def holds_proxy(value):
    """Whether there is a proxy in a value."""
    found = []
    map_aggregate(value, lambda item: found.append(item) if isinstance(item, (Proxy, Node)) else None)
    return bool(found)


class TracerBase:
    """What writes steps into `graph`."""

    graph = None

    def create_arg(self, a):
        """What stands in a node for an argument: proxies are their nodes."""
        return node_of(a)

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Adds a step to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name)

    def proxy(self, node):
        """The value of a step."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """Adds a step and gives its value."""
        return self.proxy(self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name))


class GraphAppendingTracer(TracerBase):
    """Adds what is done with proxies to a graph, for programs that write graphs without a module: tensors are inputs or the graph's `get_attr`.

    From the first one on all functions look for `__torch_function__` of proxies.
    """

    def __init__(self, graph):
        self.graph = graph
        _core._watch(_core._watching()[0], True)

    def create_arg(self, a):
        """Raises NotImplementedError for tensors, which no module holds."""
        return map_aggregate(node_of(a), self._no_tensor)

    def _no_tensor(self, value):
        if isinstance(value, _core.Tensor):
            raise NotImplementedError("GraphAppendingTracer: a tensor as an argument (accepted: proxies and plain values; Graph.get_attr names tensors)")
        return value
