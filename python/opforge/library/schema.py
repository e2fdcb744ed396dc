"""What operators take and give: schemas, and their text in the language that PyTorch has for them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from .. import _core


class _Required:
    """The default of a parameter that has none."""

    def __repr__(self):
        return "REQUIRED"


REQUIRED = _Required()


@dataclasses.dataclass(frozen=True)
class Result:
    """What an operator gives. `alias` stands for the memory that it shares with an argument: "a", or "a!" where that is changed (a mere "!" names no memory);
    "" if with none."""

    kind: str
    alias: str = ""

    @property
    def is_tensors(self) -> bool:
        """Whether it is a list of tensors."""
        return self.kind.startswith("Tensor") and "[" in self.kind

    def __str__(self):
        kind = self.kind.replace("int", "SymInt", 1) if self.kind.startswith("int") else self.kind
        alias = self.alias if self.alias in ("", "!") else f"({self.alias})"
        return kind.replace("Tensor", f"Tensor{alias}", 1)


@dataclasses.dataclass(frozen=True)
class Parameter(Result):
    """What an operator takes. `kind` is a type such as "Tensor", "int[2]", "Tensor?[]" or "Device?"; `by_name` is true behind the schema's star."""

    name: str = ""
    default: Any = REQUIRED
    by_name: bool = False

    @property
    def changes(self) -> bool:
        """Whether the operator changes it in place."""
        return self.alias.endswith("!")

    def __str__(self):
        text = f"{super().__str__()} {self.name}"
        return text if self.default is REQUIRED else f"{text}={_literal(self.default)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Schema:
    """An operator's parameters and results. `wraps` is whether a single result comes in a tuple; `name` is the operator's, or ""."""

    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    name: str = ""
    wraps: bool = False

    @functools.cached_property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters before the star."""
        return tuple(parameter for parameter in self.parameters if not parameter.by_name)

    @functools.cached_property
    def is_mutable(self) -> bool:
        """Whether the operator changes arguments."""
        return any(parameter.changes for parameter in self.parameters)

    @functools.cached_property
    def gives_tuple(self) -> bool:
        """Whether calls return a tuple of the results."""
        return len(self.results) > 1 or self.wraps

    def __str__(self):
        texts = list(map(str, self.parameters))
        if len(self.positional) < len(texts):
            texts.insert(len(self.positional), "*")
        results = ", ".join(map(str, self.results))
        results = f"(({results}))" if self.wraps else results if len(self.results) == 1 else f"({results})"
        return f"{self.name}({', '.join(texts)}) -> {results}"

    __repr__ = __str__


def _literal(value):
    """A default in a schema's text."""
    if isinstance(value, (str, _core.device)):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return str(value).removeprefix("opforge.").removeprefix("torch.")
