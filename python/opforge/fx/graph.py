"""A program as a list of nodes."""

from __future__ import annotations

import contextlib
import inspect

from .codegen import Writer
from .naming import Namespace, label_of
from .node import Node, map_arg

__all__ = ["Graph"]

# That an input has no default; None is one.
_NO_DEFAULT = inspect.Signature.empty


class Graph:
    """Nodes in the order in which they run. New ones go to the end, or where `inserting_before` and `inserting_after` say."""

    def __init__(self, owning_module=None, tracer_cls=None):
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._nodes: list[Node] = []
        self._names = Namespace()
        self._place = None

    @property
    def nodes(self):
        """The nodes, in a list of its own."""
        return list(self._nodes)

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Adds a node."""
        node = Node(self, self._names.unique(name or label_of(target)), op, target, args or (), kwargs or {})
        place = len(self._nodes) if self._place is None else self._place
        self._nodes.insert(place, node)
        self._place = None if self._place is None else place + 1
        return node

    def placeholder(self, name, type_expr=None, default_value=_NO_DEFAULT):
        """Adds an input."""
        return self.create_node("placeholder", name, () if default_value is _NO_DEFAULT else (default_value,))

    def get_attr(self, qualified_name, type_expr=None):
        """Adds a parameter or other attribute of the module."""
        return self.create_node("get_attr", qualified_name)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Adds a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of the first argument's method."""
        return self.create_node("call_method", method_name, args, kwargs)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Adds a call of a module below."""
        return self.create_node("call_module", module_name, args, kwargs)

    def output(self, result, type_expr=None):
        """Adds the end: what the program gives."""
        return self.create_node("output", "output", (result,))

    def node_copy(self, node, arg_transform=lambda node: node):
        """Adds a copy of a node of another graph, with arguments changed by a function of nodes."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name)
        copy.meta.update(node.meta)
        return copy

    def copy(self):
        """A graph of copies of the nodes."""
        made, copies = Graph(self.owning_module, self._tracer_cls), {}
        for node in self._nodes:
            copies[node] = made.node_copy(node, copies.__getitem__)
        return made

    def erase_node(self, to_erase):
        """Takes out a node that nobody uses. Raises RuntimeError if somebody does."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {dict(to_erase.users)}!")
        to_erase.args, to_erase.kwargs = (), {}
        self._nodes.remove(to_erase)

    def eliminate_dead_code(self, is_impure_node=None):
        """Takes out what nobody uses; whether there was any."""
        before = len(self._nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
        return len(self._nodes) < before

    @contextlib.contextmanager
    def _inserting(self, place):
        before, self._place = self._place, place
        try:
            yield
        finally:
            self._place = before

    def inserting_before(self, n=None):
        """A context in which new nodes go before a node; before all without one."""
        return self._inserting(0 if n is None else self._nodes.index(n))

    def inserting_after(self, n=None):
        """A context in which new nodes go behind a node; before all without one."""
        return self._inserting(0 if n is None else self._nodes.index(n) + 1)

    def _move(self, node, beside, offset):
        self._nodes.remove(node)
        self._nodes.insert(self._nodes.index(beside) + offset, node)

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and of a target."""
        return [node for node in self._nodes if node.op == op and (target is None or node.target == target)]

    def lint(self):
        """Raises RuntimeError unless every argument comes before its use and every name is there once."""
        seen = set()
        for node in self._nodes:
            missing = [argument for argument in node.all_input_nodes if argument not in seen]
            if missing:
                raise RuntimeError(f"Argument '{missing[0]}' of Node '{node}' was used before it has been defined")
            seen.add(node)
        if len({node.name for node in self._nodes}) != len(self._nodes):
            raise RuntimeError("Node redefined name")

    def python_code(self, root_module="self"):
        """The graph as the source of a function `forward`, with the module as its first parameter, and what its names stand for."""
        return Writer(self, root_module).write()

    def __str__(self):
        return "graph():\n" + "\n".join(f"    {node.format_node()}" for node in self._nodes)
