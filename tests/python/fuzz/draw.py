"""Draws arguments: plausible ones and wild ones, of every kind that signatures name."""

from __future__ import annotations

import math
import random
from typing import Any

from .values import COMPLEX, DTYPES, FLOATS, INTEGERS, NONE, Array, Items, Node, Opaque, Plain

SMALL = (-3, -2, -2, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5)
WILD = (-(2**63), 2**63 - 1, -(2**31), 2**31, 2**31 - 1, -7, 17, 64, 1000, 2**20, 2**33, 2**40, 2**62, -(2**40))
NUMBERS = (0.0, -0.0, 0.5, 1.0, -1.5, 2.0, 0.1, 1e-300, 1e300, 1e-45, 65504.0, 3.5e38, math.inf, -math.inf, math.nan)
LENGTHS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 8)
LONG = (16, 17, 33, 65, 130)
TEXTS = ("", "mean", "sum", "none", "constant", "reflect", "circular", "replicate", "ij,jk->ik", "ii->i", "...i,...i", "linear", "bilinear", "bicubic", "nearest",
         "fro", "nuc", "ij", "xy", "floor", "trunc", "L", "U", "amax", "prod", "same", "valid", "tanh", "\0", "é" * 50)  # fmt: skip
WRONG = ("object()", "'text'", "[]", "()", "[None]", "{}", "1+2j", "2**80", "-(2**80)", "[[1]]", "(1, 'a')", "range(3)", "print", "type", "b'bytes'", "nan",
         "torch", "torch.float32", "[torch.ones(2), 1]", "[0] * 100", "...", "slice(1)", "True", "torch.nn.Parameter(torch.ones(2, 3))")  # fmt: skip
DEVICES = ("'cpu'", "'cpu'", "'meta'", "'cuda'", "'cpu:1'", "'nowhere'", "torch.device('cpu')", "torch.device('meta')")


class Draw:
    """One call's draws. Its tensors share a few lengths, so that their shapes often go together."""

    def __init__(self, seed: str):
        self.pick = random.Random(seed)
        lengths = LENGTHS + (LONG if self.chance(0.2) else ())
        self.lengths = [self.pick.choice(lengths) for _ in range(3)]
        self.shapes: list[tuple[int, ...]] = []
        self.dtype = self.pick.choice((*("float32",) * 5, "float64", *DTYPES))

    def chance(self, probability: float) -> bool:
        return self.pick.random() < probability

    # Tensors

    def shape(self) -> tuple[int, ...]:
        if self.shapes and self.chance(0.5):
            shape = self.pick.choice(self.shapes)
            return tuple(1 if self.chance(0.1) else n for n in shape) if self.chance(0.3) else shape
        rank = self.pick.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5))
        shape = tuple(self.pick.choice(self.lengths) for _ in range(rank))
        while math.prod(shape) > 4000:
            shape = shape[1:]
        self.shapes.append(shape)
        return shape

    def element(self, dtype: str) -> Any:
        if dtype == "bool":
            return self.chance(0.5)
        if dtype in INTEGERS:
            low, high = INTEGERS[dtype]
            return self.pick.choice((low, high, 1, high // 2)) if self.chance(0.1) else max(low, self.pick.choice(SMALL))
        if dtype in COMPLEX:
            return complex(self.element("float32"), self.element("float32"))
        return self.pick.choice(NUMBERS) if self.chance(0.15) else round(self.pick.uniform(-2, 2), 2)

    def fill(self, dtype: str, count: int) -> tuple[Any, ...]:
        return tuple(self.element(dtype) for _ in range(min(count, 12))) or (1,)

    def tensor(self) -> Array:
        dtype = self.dtype if self.chance(0.7) else "int64" if self.chance(0.4) else self.pick.choice(DTYPES)
        shape = self.shape()
        return self.vary(Array(shape, dtype, self.fill(dtype, math.prod(shape))), 0.15)

    def indices(self) -> Array:
        shape = self.shape()
        length = self.pick.choice(self.lengths) or 1
        places = (*range(length), *range(length), -1, length, 2**62)
        one = lambda: self.pick.choice(places if self.chance(0.2) else range(length))  # noqa: E731
        fill = tuple(one() for _ in range(min(12, math.prod(shape))))
        return Array(shape, self.pick.choice(("int64", "int64", "int32", "uint8")), fill or (0,)).but()

    def vary(self, array: Array, probability: float) -> Array:
        """Another layout, a leaf, on another device."""
        changes: dict[str, Any] = {}
        if self.chance(probability):
            changes["layout"] = self.pick.choice(("transposed", "strided", "offset", "overlapping"))
        if array.dtype in FLOATS + COMPLEX and self.chance(2 * probability):
            changes["grad"] = self.pick.choice(("leaf", "leaf", "result", "view"))
        if self.chance(probability / 4):
            changes["meta"] = True
        return array.but(**changes) if changes else array

    # Everything else

    def int(self) -> Plain:
        return Plain(self.pick.choice(WILD) if self.chance(0.15) else self.pick.choice(SMALL))

    def ints(self) -> Node:
        if self.chance(0.3):
            return self.int()
        one = self.int if self.chance(0.5) else lambda: Plain(self.pick.choice(self.lengths))
        return Items(tuple(one() for _ in range(self.pick.choice((0, 1, 1, 2, 2, 2, 3, 4)))), self.pick.choice(("[]", "()")))

    def float(self) -> Plain:
        return Plain(self.pick.choice(NUMBERS) if self.chance(0.5) else round(self.pick.uniform(0, 1), 3))

    def number(self) -> Plain:
        return self.pick.choice((self.float, self.int, self.int, lambda: Plain(self.chance(0.5)), lambda: Plain(complex(self.float().value, 1))))()

    def several(self, one: Any, most: int = 4) -> Items:
        return Items(tuple(one() for _ in range(self.pick.randrange(most))), self.pick.choice(("[]", "()")))

    def argument(self, annotation: str) -> Node:
        """A value of an annotated type, or now and then any other."""
        if self.chance(0.03):
            return Opaque(self.pick.choice(WRONG))
        if annotation in ("int", "float", "bool", "Number") and self.chance(0.03):
            return Array((1,) * self.pick.randrange(2), self.pick.choice(("int64", "float32", "bool"))).but()
        kind = annotation.removesuffix(" | None")
        if kind != annotation and self.chance(0.4):
            return NONE
        if kind == "Tensor | Number":
            kind = self.pick.choice(("Tensor", "Tensor", "Number"))
        return {
            "Tensor": lambda: self.indices() if self.chance(0.15) else self.tensor(),
            "Sequence[Tensor]": lambda: self.several(self.tensor),
            "Sequence[Tensor | None]": lambda: self.several(lambda: NONE if self.chance(0.3) else self.indices()),
            "Sequence[float]": lambda: self.several(self.float),
            "int | Sequence[int]": self.ints,
            "int": self.int,
            "float": self.float,
            "Number": self.number,
            "bool": lambda: Plain(self.chance(0.5)),
            "dtype": lambda: Opaque("torch." + self.pick.choice(DTYPES)),
            "device | str": lambda: Opaque(self.pick.choice(DEVICES)),
            "Generator": lambda: Opaque("torch.Generator()"),
            "str": lambda: Plain(self.pick.choice(TEXTS)),
            "index": self.index,
            "data": self.data,
        }[kind]()

    def index(self) -> Node:
        """What stands in brackets after a tensor."""
        if self.chance(0.5):
            return self._index_part()
        return Items(tuple(self._index_part() for _ in range(self.pick.choice((0, 1, 2, 2, 2, 3, 3, 4, 6)))), "()")

    def _index_part(self) -> Node:
        bound = lambda: self.pick.choice(("None", "None", str(self.int().value)))  # noqa: E731
        return self.pick.choice(
            (
                self.int,
                self.int,
                lambda: Opaque(f"slice({bound()}, {bound()}, {self.pick.choice(('None', 'None', '1', '2', '3', '0', '-1', '2**63 - 1', '2**62'))})"),
                lambda: NONE,
                lambda: Opaque("..."),
                lambda: Plain(self.chance(0.5)),
                self.indices,
                lambda: Array(shape := self.shape(), "bool", self.fill("bool", math.prod(shape))),
                lambda: self.several(self.int),
                lambda: self.several(lambda: Plain(self.chance(0.5))),
                lambda: Opaque(self.pick.choice(WRONG)),
                self.tensor,
            )
        )()

    def data(self) -> Node:
        """What makes a tensor: numbers, nested lists, tensors in lists."""
        if self.chance(0.3):
            return self.number()
        if self.chance(0.2):
            return self.tensor()
        if self.chance(0.5):
            width, one = self.pick.randrange(4), self.pick.choice((self.number, self.int, self.float))
            return self.several(lambda: Items(tuple(one() for _ in range(width))))
        return self.several(self.data if self.chance(0.5) else self.number)
