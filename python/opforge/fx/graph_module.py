"""A graph that runs as a module."""

from __future__ import annotations

import copy

from ..nn import Module
from .interpreter import Interpreter

__all__ = ["GraphModule"]


# Where packages keep what a graph's module is to keep of its root.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_CodeOnlyModule = Module


class GraphModule(Module):
    """A module whose forward is a graph: what the graph names of `root`, a module or a dictionary, is this module's too."""

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self._class_name = class_name
        for node in graph._nodes:
            if node.op in ("get_attr", "call_module"):
                _adopt(self, root, node.target)
        if isinstance(root, Module):
            self.training = root.training
        self.graph = graph

    def forward(self, *args, **kwargs):
        """Runs the graph."""
        return Interpreter(self).run(*args, **kwargs)

    @property
    def code(self):
        """The graph as text."""
        return str(self.graph)

    def recompile(self):
        """Checks the graph after changes; nothing has to be made anew."""
        self.graph.lint()

    def delete_all_unused_submodules(self):
        """Drops modules that the graph does not call."""
        used = {node.target for node in self.graph._nodes if node.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_children()):
            if not any(target == name or target.startswith(name + ".") for target in used):
                delattr(self, name)

    def print_readable(self, print_output=True, **options):
        """Prints the graph."""
        if print_output:
            print(self.code)
        return self.code

    def _get_name(self):
        return self._class_name

    def __deepcopy__(self, memo):
        clone = memo[id(self)] = object.__new__(type(self))
        clone.__dict__.update({key: copy.deepcopy(value, memo) for key, value in self.__dict__.items() if key != "graph"})
        clone.__dict__["graph"] = self.graph.copy()
        return clone


def _adopt(module, root, name):
    """Puts what `root` has under a dotted name there in the module."""
    *path, last = name.split(".")
    source, target = root, module
    for part in path:
        source = None if isinstance(root, dict) else getattr(source, part)
        if part not in target._modules:
            target.add_module(part, Module())
            target._modules[part].training = True if source is None else source.training
        target = target._modules[part]
    value = root[name] if source is None or isinstance(root, dict) else getattr(source, last)
    if isinstance(source, Module) and last in source._buffers:
        target.register_buffer(last, value, last not in source._non_persistent_buffers_set)
    else:
        setattr(target, last, value)


def _copy_attr(from_module, to_module, target):
    """`_adopt` under PyTorch's name."""
    _adopt(to_module, from_module, target)
