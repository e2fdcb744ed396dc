"""Arguments as recipes: Python source that makes a value, and what is simpler than it."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

INTEGERS = {f"{sign}int{bits}": (0 if sign else -(2 ** (bits - 1)), 2 ** (bits if sign else bits - 1) - 1) for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)


@dataclass
class Setup:
    """The variables that a call's arguments are, each with its source."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def add(self, prefix: str, source: str) -> str:
        name = f"{prefix}{sum(known[0] == prefix for known, _ in self.lines)}"
        self.lines.append((name, source))
        return name


class Node(Protocol):
    def source(self, setup: Setup) -> str: ...

    def simpler(self) -> Iterator[Node]: ...


def cost(node: Node) -> int:
    """What simplifying makes less of: the source's length, and what is not of the usual dtype."""
    setup = Setup()
    text = node.source(setup) + "".join(line for _, line in setup.lines)
    return len(text) + text.count("dtype=") - text.count("dtype=torch.float32")


@dataclass(frozen=True)
class Plain:
    """A number, a string, a truth value or None."""

    value: Any

    def source(self, setup: Setup) -> str:
        if isinstance(self.value, complex):
            return f"complex({self.value.real!r}, {self.value.imag!r})"
        return repr(self.value)

    def simpler(self) -> Iterator[Node]:
        if isinstance(self.value, bool) or self.value is None:
            return
        if isinstance(self.value, str):
            yield Plain("")
        elif isinstance(self.value, int):
            yield from (Plain(v) for v in (0, 1, -1, 2, int(math.copysign(2 ** (self.value.bit_length() // 2), self.value))))
        elif isinstance(self.value, float):
            yield from (Plain(v) for v in (0.0, 1.0, -1.0))
        else:
            yield from (Plain(self.value.real), Plain(self.value.imag))


@dataclass(frozen=True)
class Opaque:
    """Source that is taken as it is: a dtype, a slice."""

    text: str

    def source(self, setup: Setup) -> str:
        return self.text

    def simpler(self) -> Iterator[Node]:
        return iter(())


@dataclass(frozen=True)
class Alias:
    """What shares memory with another argument."""

    text: str

    def source(self, setup: Setup) -> str:
        return setup.add("a", self.text)

    def simpler(self) -> Iterator[Node]:
        return iter(())


NONE = Plain(None)


@dataclass(frozen=True)
class Items:
    """A list or tuple."""

    parts: tuple[Node, ...]
    brackets: str = "[]"

    def source(self, setup: Setup) -> str:
        inside = ", ".join(part.source(setup) for part in self.parts)
        comma = "," if self.brackets == "()" and len(self.parts) == 1 else ""
        return self.brackets[0] + inside + comma + self.brackets[1]

    def simpler(self) -> Iterator[Node]:
        for i, part in enumerate(self.parts):
            yield replace(self, parts=self.parts[:i] + self.parts[i + 1 :])
            yield from (replace(self, parts=(*self.parts[:i], other, *self.parts[i + 1 :])) for other in part.simpler())


@dataclass(frozen=True)
class Array:
    """A tensor: its elements repeat `fill`, or with `mixed`, if they are more, are mixed of it; `layout` says how they lie in memory, and `stretched`
    which dimensions of length 1 are then expanded, to what length."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: tuple[Any, ...] = (1,)
    layout: str = "plain"
    grad: str = ""
    meta: bool = False
    stretched: tuple[tuple[int, int], ...] = ()
    mixed: bool = False

    @property
    def seen(self) -> tuple[int, ...]:
        """The shape after stretching."""
        lengths = dict(self.stretched)
        return tuple(lengths.get(d, n) for d, n in enumerate(self.shape))

    def source(self, setup: Setup) -> str:
        text = LAYOUTS[self.layout](self) + (".to('meta')" if self.meta else "") + GRADS[self.grad]
        if not self.stretched:
            return setup.add("a", text)
        return setup.add("a", f"{setup.add('b', text)}.expand({', '.join(map(str, self.seen))})")

    def flat(self, shape: tuple[int, ...]) -> str:
        """Row-major elements of a shape."""
        count = math.prod(shape)
        listed = self.fill[:count] if len(self.fill) >= count else self.fill * count if count <= 24 else self.fill
        values = f"torch.tensor([{', '.join(map(_literal, listed[:count] if count <= 24 else listed))}], dtype=torch.{self.dtype})"
        if len(listed[:count]) < count:
            values = self._mixed(count) if self.mixed else f"{values}[torch.arange({count}) % {len(self.fill)}]"
        return values if shape == (count,) else f"{values}.reshape({', '.join(map(str, shape)) or '()'})"

    def _mixed(self, count: int) -> str:
        """Elements of `fill` in an order whose period is a prime beyond all lengths; those of floats come nearer to 0 from first to last."""
        floats = self.dtype in FLOATS + COMPLEX and all(map(cmath.isfinite, self.fill))
        wide = "complex128" if self.dtype in COMPLEX else "float64" if floats else self.dtype
        listed = f"torch.tensor([{', '.join(map(_literal, self.fill))}], dtype=torch.{wide})"
        values = f"{listed}[torch.arange({count}).square() * 40503 % 1000003 % {len(self.fill)}]"
        return f"({values} * (1 - torch.arange({count}, dtype=torch.float64) / {4 * count})).to(torch.{self.dtype})" if floats else values

    def simpler(self) -> Iterator[Node]:
        for change in ({"mixed": False}, {"meta": False}, {"grad": ""}, {"layout": "plain"}, {"dtype": "float32"}, {"fill": (1,)}, {"fill": (0,)}, {"fill": self.fill[:1]}):
            yield self.but(**change)
        for d in range(len(self.shape)):
            moved = tuple((k - (k > d), n) for k, n in self.stretched if k != d)
            yield self.but(shape=self.shape[:d] + self.shape[d + 1 :], stretched=moved)
            for n in (0, 1, 2, self.shape[d] // 2):
                if n < self.shape[d]:
                    yield self.but(shape=(*self.shape[:d], n, *self.shape[d + 1 :]), stretched=tuple(s for s in self.stretched if s[0] != d))
        for k, (d, n) in enumerate(self.stretched):
            yield self.but(stretched=self.stretched[:k] + self.stretched[k + 1 :])
            yield self.but(stretched=(*self.stretched[:k], (d, 2 ** (n.bit_length() - 2)), *self.stretched[k + 1 :]))

    def but(self, **changes: Any) -> Array:
        """Another such tensor, whose values its dtype has and whose layout its shape can have."""
        other = replace(self, **changes)
        if not other.shape and other.layout != "offset":
            other = replace(other, layout="plain")
        if other.grad and other.dtype not in FLOATS + COMPLEX:
            other = replace(other, grad="")
        return replace(other, fill=tuple(fit(value, other.dtype) for value in other.fill))


def fit(value: Any, dtype: str) -> Any:
    """The number that a dtype has for a value."""
    if dtype in COMPLEX:
        return value
    if isinstance(value, complex):
        value = value.real
    if dtype == "bool":
        return bool(value)
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        return max(low, min(high, int(value))) if math.isfinite(value) else low
    return float(value) if isinstance(value, bool) else value


def _literal(value: Any) -> str:
    return Plain(value).source(Setup())


def _transposed(array: Array) -> str:
    shape = array.shape
    return f"{array.flat((shape[-1], *shape[1:-1], shape[0]) if len(shape) > 1 else shape)}.transpose(0, -1)"


def _overlapping(array: Array) -> str:
    """Windows of neighbours: the element at `i, j, ..` lies at `i + j + ..`."""
    reach = sum(n - 1 for n in array.shape if n) + 1
    return f"{array.flat((reach,))}.as_strided({array.shape}, {(1,) * len(array.shape)})"


def _expanded(array: Array) -> str:
    """Equal along the last dimension, which is one place in memory."""
    return f"{array.flat((*array.shape[:-1], 1))}.expand({', '.join(map(str, array.shape))})"


LAYOUTS = {
    "plain": lambda array: array.flat(array.shape),
    "transposed": _transposed,
    "strided": lambda array: f"{array.flat((*array.shape[:-1], 2 * array.shape[-1]))}[..., ::2]",
    "offset": lambda array: f"{array.flat((2, *array.shape))}[1]",
    "overlapping": _overlapping,
    "expanded": _expanded,
}

GRADS = {"": "", "leaf": ".requires_grad_()", "result": ".requires_grad_().clone()", "view": ".requires_grad_().unsqueeze(0)[0]"}
