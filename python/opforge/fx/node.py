"""A call in a graph."""

from __future__ import annotations

from typing import Any, Callable, Union

from .naming import name_of_function

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]

Target = Union[Callable[..., Any], str]
Argument = Any


def map_aggregate(value, fn):
    """The value with `fn` of all that is no tuple, list, dictionary or slice."""
    if isinstance(value, tuple):
        items = [map_aggregate(item, fn) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [map_aggregate(item, fn) for item in value]
    if isinstance(value, dict):
        return {key: map_aggregate(item, fn) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(map_aggregate(item, fn) for item in (value.start, value.stop, value.step)))
    return fn(value)


def map_arg(value, fn):
    """The value with `fn` of the nodes in it."""
    return map_aggregate(value, lambda item: fn(item) if isinstance(item, Node) else item)


def _shown(value):
    """An argument as text: nodes with a sign, names and texts as they are."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, (tuple, list)):
        items = ", ".join(map(_shown, value))
        return f"[{items}]" if isinstance(value, list) else f"({items}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_shown(item)}' for key, item in value.items())}}}"
    return str(value)


class Node:
    """A step of a graph. What `target` is depends on `op`:

    "placeholder", "get_attr", "call_module": a name; "call_method": a method's name; "call_function": a function; "output": "output", of `args[0]`.
    """

    def __init__(self, graph, name, op, target, args, kwargs):
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.users: dict[Node, None] = {}
        self.meta: dict = {}
        self._args, self._kwargs = (), {}
        self.args, self.kwargs = args, kwargs

    @property
    def args(self):
        """The positional arguments, nodes among them."""
        return self._args

    @args.setter
    def args(self, args):
        self._change(tuple(args), self._kwargs)

    @property
    def kwargs(self):
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._change(self._args, dict(kwargs))

    def _change(self, args, kwargs):
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        for node in self.all_input_nodes:
            node.users[self] = None

    @property
    def all_input_nodes(self):
        """The nodes among its arguments, each once."""
        found: dict[Node, None] = {}
        map_arg((self._args, self._kwargs), lambda node: found.setdefault(node))
        return list(found)

    @property
    def next(self):
        """The node behind it."""
        nodes = self.graph._nodes
        place = nodes.index(self) + 1
        return nodes[place] if place < len(nodes) else self

    @property
    def prev(self):
        """The node before it."""
        nodes = self.graph._nodes
        return nodes[max(nodes.index(self) - 1, 0)]

    def replace_input_with(self, old_input, new_input):
        """Puts another node in the place of an argument."""
        self._change(*map_arg((self._args, self._kwargs), lambda node: new_input if node is old_input else node))

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Puts another node in its place wherever it is an argument; the nodes that have changed."""
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    def append(self, x):
        """Moves a node behind this one."""
        self.graph._move(x, self, 1)

    def prepend(self, x):
        """Moves a node before this one."""
        self.graph._move(x, self, 0)

    def is_impure(self, impure_random=True):
        """Whether it stays though nobody uses it: inputs, the output, and what changes something in place."""
        name = self.target if isinstance(self.target, str) else getattr(self.target, "__name__", "")
        changes = self.op in ("call_function", "call_method") and name.endswith("_") and not name.endswith("__")
        return self.op in ("placeholder", "output") or changes or name == "setitem"

    def format_node(self):
        """The node as text, in PyTorch's form."""
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self.target if isinstance(self.target, str) else name_of_function(self.target)
        text = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            return f"{text}(default={self.args[0]})" if self.args else text
        return text if self.op == "get_attr" else f"{text}(args = {_shown(self.args)}, kwargs = {_shown(self.kwargs)})"

    def __repr__(self):
        return self.name
