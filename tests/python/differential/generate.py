"""Calls that users make: those of the fuzzer, drawn so that most of them succeed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from fuzz import declared, written
from fuzz.calls import Argument, Call
from fuzz.declared import CATALOGUE, FORMS
from fuzz.draw import Draw
from fuzz.generate import SAMPLES
from fuzz.values import COMPLEX, DTYPES, FLOATS, NONE, Array, Items, Node, Opaque, Plain

# Functions whose forms PyTorch may have: the others are this project's own.
NAMES = sorted(name for name, forms in FORMS.items() if any("_core" not in form.path for form in forms))
# What a parameter of texts may be, by its name and where it matters by the function's too.
WORDS = {
    "reduction": ("none", "mean", "sum"),
    "norm": ("forward", "backward", "ortho"),
    "rounding_mode": ("floor", "trunc"),
    "approximate": ("none", "tanh"),
    "side": ("left", "right"),
    "UPLO": ("L", "U"),
    "driver": ("gels", "gelsy", "gelsd", "gelss"),
    "padding": ("same", "valid"),
    "padding_mode": ("zeros", "border", "reflection"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "indexing": ("ij", "xy"),
    "ord": ("fro", "nuc"),
    "p": ("fro", "nuc"),
    "pad.mode": ("constant", "reflect", "replicate", "circular"),
    "qr.mode": ("reduced", "complete", "r"),
    "interpolate.mode": ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"),
    "interpolate_by.mode": ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact"),
    "grid_sample.mode": ("bilinear", "nearest", "bicubic"),
    "embedding_bag.mode": ("sum", "mean", "max"),
    "reduce": ("sum", "prod", "mean", "amax", "amin"),
    "scatter.reduce": ("add", "multiply"),
    "scatter_value.reduce": ("add", "multiply"),
    "index_reduce.reduce": ("prod", "mean", "amax", "amin"),
    "segment_reduce.reduce": ("sum", "mean", "max", "min", "prod"),
}
LAYOUTS = ("transposed", "strided", "offset", "expanded")
NUMBERS = (0, 1, 2, 3, -1, 0.5, 2.0, -1.5, True, False, 100, math.inf, math.nan, 0.1, -0.0)


class Plausible(Draw):
    """Draws without what no library accepts: other devices, wrong types, numbers beyond all lengths."""

    def argument(self, annotation: str) -> Node:
        kind = annotation.removesuffix(" | None")
        if "device" in kind:
            return Plain("cpu")
        if kind in ("int", "Number", "float") and self.chance(0.03):
            return Array((), self.pick.choice(("int64", "float32", "bool", "float64")), (1,)).but()
        if kind != annotation and self.chance(0.3):
            return NONE
        if kind == "dtype":
            return Opaque("torch." + self.pick.choice((*FLOATS, *DTYPES)))
        while isinstance(node := super().argument(kind), Opaque) and kind not in ("Generator", "index"):
            pass
        return node

    def word(self, function: str, parameter: str) -> Node:
        known = WORDS.get(f"{function}.{parameter}") or WORDS.get(parameter)
        return Plain(self.pick.choice(known)) if known else NONE

    def int(self) -> Plain:
        return Plain(self.pick.choice((-2, -1, -1, 0, 0, 1, 1, 2, 2, 3)))

    def number(self) -> Plain:
        return Plain(self.pick.choice(NUMBERS)) if not self.chance(0.1) else Plain(complex(self.pick.choice(NUMBERS), 0.5))

    def vary(self, array: Array, probability: float) -> Array:
        changes: dict[str, Any] = {}
        if self.chance(0.2):
            changes["layout"] = self.pick.choice(LAYOUTS)
        if array.dtype in FLOATS + COMPLEX and self.chance(0.3):
            changes["grad"] = self.pick.choice(("leaf", "leaf", "leaf", "result"))
        # PyTorch adds up gradients of a leaf in memory laid out as the leaf is, which an expanded one has only once.
        if changes.get("layout") == "expanded":
            changes.pop("grad", None)
        return array.but(**changes)


def drawn(draw: Plausible, name: str) -> list[Argument]:
    """Arguments of a function's types, with words that it knows."""
    arguments = declared.drawn(draw, name)
    return [replace(a, value=draw.word(name, p) if isinstance(a.value, Plain) and isinstance(a.value.value, str) and a.value.value != "cpu" else a.value)
            for a, p in zip(arguments, names_of(name, arguments), strict=True)]  # fmt: skip


def names_of(name: str, arguments: list[Argument]) -> list[str]:
    """The parameter that each argument is of; empty where there is none."""
    positional = [p["name"] for p in CATALOGUE[name]["parameters"]]
    return [declared.PROPER.get(a.keyword, a.keyword) or (positional[i] if i < len(positional) else "") for i, a in enumerate(arguments)]


# Changes beside the fuzzer's own


def _word(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Another word for one that is there."""
    known = names_of(name, arguments)
    return [replace(a, value=draw.word(name, p)) if isinstance(a.value, Plain) and isinstance(a.value.value, str) and (p in WORDS or f"{name}.{p}" in WORDS) else a
            for a, p in zip(arguments, known, strict=True)]  # fmt: skip


def _number(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Another small number for one that is there."""
    for i in draw.pick.sample(range(len(arguments)), len(arguments)):
        value = arguments[i].value
        if isinstance(value, Plain) and type(value.value) in (int, float):
            near = (value.value - 1, value.value + 1, -value.value, -value.value - 1)
            number = Plain(draw.pick.choice(near)) if draw.chance(0.6) else draw.int() if type(value.value) is int else draw.number()
            arguments[i] = replace(arguments[i], value=number)
            break
    return arguments


def _zero_rank(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """One element without dimensions for a tensor, of any dtype, as it takes part in promotion."""
    places = [i for i, a in enumerate(arguments) if isinstance(a.value, Array)]
    if places:
        i = draw.pick.choice(places)
        array = arguments[i].value
        dtype = array.dtype if draw.chance(0.4) else draw.pick.choice(DTYPES)
        arguments[i] = replace(arguments[i], value=array.but(shape=(), dtype=dtype))
    return arguments


def _broadcast(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """One length of one tensor becomes 1, or its first dimension goes."""
    places = [i for i, a in enumerate(arguments) if isinstance(a.value, Array) and a.value.shape]
    if places:
        i = draw.pick.choice(places)
        array = arguments[i].value
        d = draw.pick.randrange(len(array.shape))
        shape = array.shape[1:] if draw.chance(0.3) else (*array.shape[:d], 1, *array.shape[d + 1 :])
        arguments[i] = replace(arguments[i], value=array.but(shape=shape))
    return arguments


def _scalar(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """A number for a tensor, where the signature has either."""
    for i, p in enumerate(names_of(name, arguments)):
        kinds = [q["type"] for q in CATALOGUE[name]["parameters"] if q["name"] == p]
        if kinds and "Tensor | Number" in kinds[0] and draw.chance(0.6):
            arguments[i] = replace(arguments[i], value=draw.number())
            break
    return arguments


def _doubles(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Leaves of float64, so that gradients of both orders are compared."""
    change = lambda array: array.but(dtype="float64", grad="leaf") if array.dtype in FLOATS else array  # noqa: E731
    return [replace(a, value=declared.mapped(a.value, change)) for a in arguments]


def _scaled(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Floats by a power of two, so that what is added to them, an epsilon, shows."""
    factor = draw.pick.choice((2.0**-12, 2.0**-6, 2.0**5))
    change = lambda array: array.but(fill=tuple(v * factor for v in array.fill)) if array.dtype in FLOATS + COMPLEX else array  # noqa: E731
    return [replace(a, value=declared.mapped(a.value, change)) for a in arguments]


def _keyword(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Positional arguments by keyword, from one on."""
    known = names_of(name, arguments)
    if not all(known) or not arguments:
        return arguments
    first = draw.pick.randrange(len(arguments))
    return [replace(a, keyword=a.keyword or known[i]) if i >= first else a for i, a in enumerate(arguments)]


def _out(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Where results go: nothing yet, of the dtype of an argument or another."""
    if not CATALOGUE[name]["out"] or any(a.keyword == "out" for a in arguments):
        return arguments
    found = [array.dtype for a in arguments for array in declared.arrays(a.value)] or ["float32"]
    one = lambda: Array((0,), draw.pick.choice(found) if draw.chance(0.8) else draw.pick.choice(DTYPES))  # noqa: E731
    count = CATALOGUE[name]["returns"].count("Tensor")
    out = one() if count == 1 else Items(tuple(one() for _ in range(count)), "()")
    return [*arguments, Argument(out, "out", changed=True, returned=True)]


# Lengths at which kernels begin to go by vectors, blocks and threads, and those around; and as many elements as a tensor may have then.
LONG = (15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 130, 255, 257, 300, 513, 1000, 1025, 4097, 20_000, 65_537)
MANY = 200_000
# Parameters that are lengths of tensors.
SIZES = ("size", "sizes", "shape", "normalized_shape", "output_size", "split_sizes", "split_size_or_sections")


def longer(draw: Plausible, name: str, arguments: list[Argument]) -> list[Argument]:
    """Long tensors, of mixed elements: some lengths become others, in all tensors, and at times in arguments that are lengths."""
    found = sorted({n for a in arguments for array in declared.arrays(a.value) for n in array.shape if n > 1})
    lengths = {n: draw.pick.choice(LONG) for n in [n for n in found if draw.chance(0.6)] or found[:1]}

    def shape(array: Array) -> tuple[int, ...]:
        return tuple(lengths.get(n, n) for n in array.shape)

    while lengths and any(math.prod(shape(array)) > MANY for a in arguments for array in declared.arrays(a.value)):
        old = max(lengths, key=lengths.__getitem__)
        shorter = [n for n in LONG if n < lengths[old]]
        if shorter:
            lengths[old] = draw.pick.choice(shorter)
        else:
            del lengths[old]
    arguments = [replace(a, value=declared.mapped(a.value, lambda array: array.but(shape=shape(array), mixed=True))) for a in arguments]
    if draw.chance(0.5):
        return arguments

    def listed(node: Node) -> Node:
        known = isinstance(node, Items) and all(isinstance(part, Plain) and type(part.value) is int for part in node.parts)
        return replace(node, parts=tuple(Plain(lengths.get(part.value, part.value)) for part in node.parts)) if known else node

    return [replace(a, value=listed(a.value)) if p in SIZES else a for a, p in zip(arguments, names_of(name, arguments), strict=True)]


CHANGES = (*declared.PLAUSIBLE, _word, _number, _number, _zero_rank, _zero_rank, _broadcast, _scalar, _doubles, _doubles, _doubles, _scaled, _keyword, _out)


def call(seed: int, number: int, only: str = "", long: bool = False) -> Call:
    """The call of a seed and a number; `only` names the function, if it is to be one, and `long` makes tensors long."""
    draw = Plausible(f"{seed}:{number}")
    if not only and not long and draw.chance(0.05):
        return written.drawn(draw, False)
    name = only or draw.pick.choice(NAMES)
    arguments = None
    if name in SAMPLES and draw.chance(0.75):
        arguments = declared.sample(draw.pick.choice(SAMPLES[name]))
    arguments = declared.vary(draw, name, arguments, CHANGES) if arguments is not None else drawn(draw, name)
    if long:
        arguments = longer(draw, name, arguments)
    while "_core" in (found := declared.assemble(draw, name, arguments)).path:
        pass
    return found
