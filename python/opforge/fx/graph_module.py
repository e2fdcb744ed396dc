"""A graph that runs as a module."""

from __future__ import annotations

import copy
import textwrap

from ..nn import Module

__all__ = ["GraphModule"]


# Where packages keep what a graph's module is to keep of its root.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_CodeOnlyModule = Module


class GraphModule(Module):
    """A module whose forward is a graph: what the graph names of `root`, a module or a dictionary, is this module's too.

    Each has a class of its own, called `class_name`, whose forward is `code`: after changes of the graph it is written anew by `recompile()`.
    """

    def __new__(cls, *args, **kwargs):
        return object.__new__(type(cls.__name__, (cls,), {"_class_as_written": cls}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        for node in graph._nodes:
            if node.op in ("get_attr", "call_module"):
                _adopt(self, root, node.target)
        if isinstance(root, Module):
            self.training = root.training
        self.graph = graph

    @property
    def graph(self):
        """The graph. A new one is written as `code` at once."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        self._graph = graph
        self.recompile()

    @property
    def code(self):
        """The source of `forward`."""
        return self._code

    def recompile(self):
        """Writes `code` for the graph as it is now, and has calls run it. Returns the source with what its names stand for."""
        self.graph.lint()
        written = self.graph.python_code("self")
        names = dict(written.globals)
        exec(compile(written.src, f"<forward of {type(self).__name__}>", "exec"), names)
        type(self).forward, self._code = names["forward"], written.src
        return written

    def add_submodule(self, target, m):
        """Puts a module at the dotted name `target`, with empty modules on the way; False where something else has a name on the way."""
        *path, last = target.split(".")
        place = self
        for part in path:
            if not hasattr(place, part):
                place.add_module(part, Module())
            place = getattr(place, part)
            if not isinstance(place, Module):
                return False
        place.add_module(last, m)
        return True

    def delete_submodule(self, target):
        """Drops the module at the dotted name `target`; whether there was one."""
        path, _, last = target.rpartition(".")
        try:
            modules = self.get_submodule(path)._modules
        except AttributeError:
            return False
        return modules.pop(last, None) is not None

    def delete_all_unused_submodules(self):
        """Drops modules that the graph does not call."""
        used = {node.target for node in self.graph._nodes if node.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_children()):
            if not any(target == name or target.startswith(name + ".") for target in used):
                delattr(self, name)

    def print_readable(self, print_output=True, **options):
        """The module's class as source, which is printed too."""
        text = f"class {type(self).__name__}(torch.nn.Module):\n" + textwrap.indent(self.code, "    ")
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo):
        clone = memo[id(self)] = self._empty()
        clone.__dict__.update({key: copy.deepcopy(value, memo) for key, value in self.__dict__.items() if key != "_graph"})
        clone.graph = self.graph.copy()
        return clone

    def __reduce__(self):
        return _rebuilt, (self._class_as_written, type(self).__name__, self.__getstate__())

    def _empty(self):
        """A module of this kind and name without contents."""
        clone = self._class_as_written.__new__(self._class_as_written)
        type(clone).__name__ = type(self).__name__
        return clone


def _rebuilt(kind, class_name, state):
    """A module of a pickle: an object of its class, with its state."""
    module = kind.__new__(kind)
    type(module).__name__ = class_name
    module.__setstate__(state)
    module.recompile()
    return module


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
