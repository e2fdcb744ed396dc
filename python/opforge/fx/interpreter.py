"""Runs a graph, a node after the other."""

from __future__ import annotations

from .node import map_arg

__all__ = ["Interpreter"]


class Interpreter:
    """Runs the graph of a module. Subclasses change what nodes do: `call_function(target, args, kwargs)` and so on."""

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module, self.graph = module, graph or module.graph
        self.env = {}

    def run(self, *args, initial_env=None, enable_io_processing=True, **kwargs):
        """What the graph gives for these inputs."""
        self.env, self._inputs, self._named = dict(initial_env or {}), iter(args), dict(kwargs)
        last = {argument: node for node in self.graph._nodes for argument in node.all_input_nodes}
        for node in self.graph._nodes:
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            for argument in node.all_input_nodes:
                if last[argument] is node:
                    del self.env[argument]  # so that its memory is free
        return None

    def run_node(self, n):
        """What a node gives."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n):
        """A node's arguments, with values in the place of nodes."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)

    def map_nodes_to_values(self, args, n):
        """Arguments of a node with values in the place of nodes. Raises RuntimeError for a node that has not run."""

        def value(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, value)

    def fetch_attr(self, target):
        """A parameter or other attribute of the module, whose name may have dots. Raises RuntimeError where there is none."""
        value = self.module
        for part in target.split("."):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            value = getattr(value, part)
        return value

    def placeholder(self, target, args, kwargs):
        """An input, or its default."""
        if target.startswith("**"):
            return self._named
        if target.startswith("*"):
            return tuple(self._inputs)
        if target in self._named:
            return self._named.pop(target)
        missing = object()
        value = next(self._inputs, args[0] if args else missing)
        if value is missing:
            raise TypeError(f"forward(): missing the argument {target!r}")
        return value

    def get_attr(self, target, args, kwargs):
        """A parameter or other attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """A function's result."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of the first argument's method."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of a module below."""
        return self.module.get_submodule(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """What the program gives."""
        return args[0]
