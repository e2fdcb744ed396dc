"""A call: a function, its arguments as recipes, and what it may do to them."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from .values import Node, Setup, cost

# What a program's source may name.
PROLOGUE = "import copy, operator, pickle\nfrom math import inf, nan\n\nimport opforge as torch\n"


@dataclass(frozen=True)
class Argument:
    value: Node
    keyword: str = ""
    # Whether the call may change this argument.
    changed: bool = False
    # Whether the call returns this argument itself.
    returned: bool = False


@dataclass(frozen=True)
class Program:
    """A call as source: what runs in the child."""

    name: str
    # Variables and their sources, in order.
    setup: list[tuple[str, str]]
    call: str
    # The variables that the call may change.
    changed: list[str]
    # The source of what the call returns itself, if it works in place.
    returned: str
    # Whether results may share memory with arguments, where that is declared.
    view: bool | None
    # Whether the arguments are too many elements to be gone through in time.
    stretched: bool

    def text(self) -> str:
        """A program that stands alone."""
        lines = [f"{name} = {source}" for name, source in self.setup]
        return "\n".join([PROLOGUE, "torch.manual_seed(0)", *lines, f"result = {self.call}", "print(result)"])

    def data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Call:
    # The name in the catalogue, or of what is written by hand.
    name: str
    # What is called: a path from `torch`, or with `method` a method of the first argument.
    path: str
    arguments: tuple[Argument, ...]
    method: bool = False
    view: bool | None = None
    stretched: bool = False

    def program(self) -> Program:
        setup, changed, sources, returned = Setup(), [], [], ""
        for argument in self.arguments:
            known = len(setup.lines)
            source = argument.value.source(setup)
            if argument.changed:
                changed += [name for name, _ in setup.lines[known:]]
            if argument.returned and all(name in dict(setup.lines) for name in source.strip("()").replace(",", "").split()):
                returned = source
            sources.append(_by_keyword(argument.keyword, source) if argument.keyword else source)
        if self.method and sources and sources[0] in dict(setup.lines):
            call = f"{sources[0]}.{self.path}({', '.join(sources[1:])})"
        elif self.method:
            call = f"torch.Tensor.{self.path}({', '.join(sources)})"
        else:
            call = f"{self.path}({', '.join(sources)})"
        return Program(self.name, setup.lines, call, changed, returned, self.view, self.stretched)

    def simpler(self) -> Iterator[Call]:
        """Calls with fewer or simpler arguments."""
        for i, argument in reversed(list(enumerate(self.arguments))):
            if i or not self.method:
                yield replace(self, arguments=self.arguments[:i] + self.arguments[i + 1 :])
            for value in argument.value.simpler():
                if cost(value) < cost(argument.value):
                    yield self.with_argument(i, replace(argument, value=value))

    def with_argument(self, i: int, argument: Argument) -> Call:
        return replace(self, arguments=(*self.arguments[:i], argument, *self.arguments[i + 1 :]))


def _by_keyword(name: str, source: str) -> str:
    return f"**{{{name!r}: {source}}}" if keyword.iskeyword(name) else f"{name}={source}"
