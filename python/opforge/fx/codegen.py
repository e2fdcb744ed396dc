"""The source of a graph: a function `forward` in Python."""

from __future__ import annotations

import builtins
import inspect
import math
import operator
import re
from typing import Any, NamedTuple

import opforge

from .. import _core
from .naming import Namespace, name_of_function
from .node import Node

__all__ = ["PythonCode"]

_BETWEEN = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<",
    operator.rshift: ">>", operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
_BEFORE = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


class PythonCode(NamedTuple):
    """A function's source, and what its names stand for where it runs."""

    src: str
    globals: dict[str, Any]


class Writer:
    """Writes one graph's source: `write()` once."""

    def __init__(self, graph, root_module="self"):
        self.nodes, self.root = graph._nodes, root_module
        self.globals = {"torch": opforge, "operator": operator, "inf": math.inf, "nan": math.nan}
        self._names = Namespace()
        for name in (root_module, *self.globals, *(node.name for node in self.nodes)):
            self._names.unique(name)

    def write(self):
        """The source and its names, as [`PythonCode`]."""
        inputs, lines = self._signature()
        dropped = self._last_uses()
        for node in self.nodes:
            if node.op == "output":
                lines.append(f"return {self._text(node.args[0])}")
            elif node.op != "placeholder":
                lines.append(f"{node.name} = {getattr(self, f'_{node.op}')(node)}")
                if dropped[node]:
                    lines[-1] += f";  {' = '.join(dropped[node])} = None"
        body = "".join(f"    {line}\n" for line in lines or ["pass"])
        return PythonCode(f"def forward({', '.join((self.root, *inputs))}):\n{body}", self.globals)

    def _signature(self):
        """The parameters, and assignments to nodes that are not called as their parameter is."""
        inputs, lines, has_default, is_named = [], [], False, False
        for node in self.nodes:
            if node.op != "placeholder":
                continue
            parameter = node.target.lstrip("*")
            if node.args:
                inputs.append(f"{node.target} = {self._text(node.args[0])}")
            elif has_default and not is_named and not node.target.startswith("*"):
                inputs.append(f"*, {node.target}")
                is_named = True
            else:
                inputs.append(node.target)
            has_default, is_named = has_default or bool(node.args), is_named or node.target.startswith("*")
            if parameter != node.name:
                lines.append(f"{node.name} = {parameter}")
        return inputs, lines

    def _last_uses(self):
        """The names that nobody reads behind each node, so that their memory is free."""
        dropped, seen = {node: [] for node in self.nodes}, set()
        for node in reversed(self.nodes):
            if node.op not in ("output", "placeholder") and not node.users:
                dropped[node].append(node.name)
            for argument in node.all_input_nodes:
                if argument not in seen:
                    seen.add(argument)
                    dropped[node].append(argument.name)
        return dropped

    # Each kind of node as an expression

    def _get_attr(self, node):
        return self._member(self.root, node.target)

    def _call_module(self, node):
        return f"{self._member(self.root, node.target)}({self._arguments(node.args, node.kwargs)})"

    def _call_method(self, node):
        receiver, *rest = node.args
        owner = receiver.name if isinstance(receiver, Node) else f"({self._text(receiver)})"
        return f"{owner}.{node.target}({self._arguments(rest, node.kwargs)})"

    def _call_function(self, node):
        function, args = node.target, node.args
        if not node.kwargs:
            if function in _BETWEEN and len(args) == 2:
                return f"{self._operand(args[0])} {_BETWEEN[function]} {self._operand(args[1])}"
            if function in _BEFORE and len(args) == 1:
                return f"{_BEFORE[function]}{self._operand(args[0])}"
            if function is operator.getitem and len(args) == 2:
                return f"{self._operand(args[0])}[{self._text(args[1])}]"
            if function is getattr and len(args) == 2 and isinstance(args[0], Node) and isinstance(args[1], str):
                return self._member(args[0].name, args[1])
        return f"{self._name(function)}({self._arguments(args, node.kwargs)})"

    def _member(self, owner, path):
        for part in path.split("."):
            owner = f"{owner}.{part}" if part.isidentifier() else f"getattr({owner}, {part!r})"
        return owner

    def _arguments(self, args, kwargs):
        named = (f"{name} = {self._text(value)}" for name, value in kwargs.items() if name.isidentifier())
        others = {name: value for name, value in kwargs.items() if not name.isidentifier()}
        return ", ".join((*map(self._text, args), *named, *([f"**{self._text(others)}"] if others else [])))

    def _operand(self, value):
        text = self._text(value)
        stands_alone = isinstance(value, Node) or (type(value) in (int, float) and not text.startswith("-"))
        return text if stands_alone else f"({text})"

    # Values

    def _text(self, value):
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            items = [self._text(item) for item in value]
            if hasattr(value, "_fields"):
                return f"{self._name(type(value))}({', '.join(items)})"
            return f"({', '.join(items)}{',' * (len(items) == 1)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._text, value))}]"
        if type(value) is dict:
            return f"{{{', '.join(f'{self._text(key)}: {self._text(item)}' for key, item in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._text, (value.start, value.stop, value.step)))})"
        if value is Ellipsis or value is None or type(value) in (bool, int, float, complex, str, bytes):
            return repr(value)
        if isinstance(value, _core.dtype):
            return f"torch.{str(value).rpartition('.')[2]}"
        if isinstance(value, _core.device):
            return f"torch.device({str(value)!r})"
        return self._name(value) if inspect.isroutine(value) or isinstance(value, type) else self._bound(type(value).__name__, value)

    def _name(self, function):
        """A function or class by its name where that leads to it, else by a name of its own."""
        name = name_of_function(function).removeprefix("builtins.")
        start, *path = name.split(".")
        found = self.globals.get(start, getattr(builtins, start, None))
        for part in path:
            found = getattr(found, part, None)
        return name if found is function else self._bound(name, function)

    def _bound(self, label, value):
        known = next((name for name, other in self.globals.items() if other is value), None)
        name = known or self._names.unique(re.sub(r"\W", "_", label))
        self.globals[name] = value
        return name
