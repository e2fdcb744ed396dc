"""Calls of the declared functions, in every form they have: arguments drawn for their types, or the suite's sample calls made otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import opforge as torch
from cases import CATALOGUE, Case

from .calls import Argument, Call
from .draw import WILD, WRONG, Draw
from .values import COMPLEX, DTYPES, FLOATS, Alias, Array, Items, Node, Opaque, Plain

PATHS = {"torch": "torch", "nn": "torch.nn.functional", "linalg": "torch.linalg", "special": "torch.special", "hidden": "torch._core"}
# What numpy calls parameters.
SYNONYMS = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"}
PROPER = {synonym: name for name, synonym in SYNONYMS.items()}
# A sample call's arguments made otherwise: of a function by its name.
Change = Callable[[Draw, str, list[Argument]], list[Argument]]
# Arguments that functions change though their names do not end in `_`.
CHANGED = {
    "batch_norm": ("running_mean", "running_var"),
    "instance_norm": ("running_mean", "running_var"),
    "embedding": ("weight",),
    "embedding_bag": ("weight",),
}


@dataclass(frozen=True)
class Form:
    """One way to call a function."""

    path: str
    method: bool = False
    in_place: bool = False
    # Written with the option `inplace=True`.
    option: bool = False


def forms(entry: dict[str, Any]) -> list[Form]:
    name, faces = entry["python_name"], entry["faces"]
    found = [Form(f"{path}.{name}") for face, path in PATHS.items() if face in faces]
    found = [form if _exists(form.path) else Form(f"torch._core.{form.path.split('.')[1]}.{name}") for form in found]
    if "method" in faces:
        found.append(Form(name, method=True, in_place=name.endswith("_")))
    if entry["in_place"]:
        found += [Form(f"{name}_", method=True, in_place=True)] * 2
        if hasattr(torch, f"{name}_"):
            found.append(Form(f"torch.{name}_", in_place=True))
    if "inplace" in faces:
        found.append(Form(f"torch.nn.functional.{name}", in_place=True, option=True))
    return found


def _exists(path: str) -> bool:
    place: Any = torch
    for part in path.split(".")[1:]:
        place = getattr(place, part, None)
    return place is not None


FORMS = {name: forms(entry) for name, entry in CATALOGUE.items()}
NAMES = sorted(name for name, found in FORMS.items() if found)


def assemble(draw: Draw, name: str, arguments: list[Argument]) -> Call:
    """A call in some form, of arguments by position and keyword."""
    entry, form = CATALOGUE[name], draw.pick.choice(FORMS[name])
    all_changed = "hidden" in entry["faces"] and form.path.endswith("_")
    changed = CHANGED.get(entry["python_name"], ())
    if any(p["name"] == "inplace" for p in entry["parameters"]):
        changed = (entry["parameters"][0]["name"],)
    names = [p["name"] for p in entry["parameters"] if not p["keyword_only"]]
    known = [PROPER.get(a.keyword, a.keyword) or (names[i] if i < len(names) else "") for i, a in enumerate(arguments)]
    arguments = [replace(a, changed=all_changed or n in changed or a.keyword == "out") for a, n in zip(arguments, known)]
    if form.in_place and arguments:
        arguments[0] = replace(arguments[0], changed=True, returned=True, keyword="" if form.method else arguments[0].keyword)
        arguments = [a for a in arguments if a.keyword not in ("out", "inplace")]
    if form.option:
        arguments.append(Argument(Plain(True), "inplace"))
    if form.method and arguments and arguments[0].keyword:
        arguments[0] = Argument(arguments[0].value, "", form.in_place, form.in_place)
    return Call(name, form.path, tuple(arguments), form.method, entry.get("view"), any_stretched(arguments))


def any_stretched(arguments: list[Argument]) -> bool:
    return any(array.stretched for argument in arguments for array in arrays(argument.value))


def arrays(node: Node) -> list[Array]:
    """The tensors of an argument."""
    if isinstance(node, Items):
        return [array for part in node.parts for array in arrays(part)]
    return [node] if isinstance(node, Array) else []


def mapped(node: Node, f: Any) -> Node:
    """With a function applied to each tensor."""
    if isinstance(node, Items):
        return replace(node, parts=tuple(mapped(part, f) for part in node.parts))
    return f(node) if isinstance(node, Array) else node


# Drawn from the signature


def drawn(draw: Draw, name: str) -> list[Argument]:
    """Arguments of a function's types: some by keyword, optional ones often left out."""
    arguments, by_name = [], False
    for parameter in CATALOGUE[name]["parameters"]:
        if parameter["default"] is not None and draw.chance(0.6):
            by_name = True
            continue
        by_name = by_name or parameter["keyword_only"] or draw.chance(0.1)
        name = SYNONYMS.get(parameter["name"], parameter["name"]) if draw.chance(0.1) else parameter["name"]
        arguments.append(Argument(draw.argument(parameter["type"]), name if by_name else ""))
    return arguments


# Made of sample calls


def recipe(value: Any) -> Node | None:
    """A sample's argument; None for what has no recipe."""
    if isinstance(value, np.ndarray):
        dtype = {"f": "float32", "i": "int64", "u": "uint8", "b": "bool", "c": "complex64"}.get(value.dtype.kind)
        if dtype is None or value.size > 600:
            return None
        flat = value.ravel().tolist()
        return Array(value.shape, dtype, tuple(round(v, 3) if isinstance(v, float) and abs(v) > 0.01 else v for v in flat) or (1,))
    if isinstance(value, (list, tuple)):
        parts = [recipe(part) for part in value]
        return None if any(p is None for p in parts) else Items(tuple(parts), "[]" if isinstance(value, list) else "()")
    if isinstance(value, torch.dtype):
        return Opaque(f"torch.{str(value).split('.')[-1]}")
    if value is None or type(value) in (bool, int, float, complex, str):
        return Plain(value)
    return None


def sample(case: Case) -> list[Argument] | None:
    values = [(recipe(v), "") for v in case.args] + [(recipe(v), k) for k, v in case.options.items()]
    return None if any(v is None for v, _ in values) else [Argument(v, k) for v, k in values]


def vary(draw: Draw, name: str, arguments: list[Argument], changes: tuple[Change, ...] | None = None) -> list[Argument]:
    """A sample call made otherwise, in one to three ways or not at all."""
    for _ in range(draw.pick.choice((0, 1, 1, 2, 3))):
        arguments = draw.pick.choice(changes or CHANGES)(draw, name, list(arguments))
    return [replace(a, value=mapped(a.value, lambda array: draw.vary(array, 0.1))) for a in arguments]


def _one(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """Another argument of its type."""
    parameters = CATALOGUE[name]["parameters"]
    if arguments and parameters:
        i = draw.pick.randrange(len(arguments))
        known = {p["name"]: p["type"] for p in parameters}
        kind = known.get(arguments[i].keyword) or parameters[min(i, len(parameters) - 1)]["type"]
        arguments[i] = replace(arguments[i], value=draw.argument(kind))
    return arguments


def _option(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """One option more."""
    parameters = CATALOGUE[name]["parameters"]
    positional = sum(not a.keyword for a in arguments)
    absent = [p for p in parameters[positional:] if p["name"] not in {a.keyword for a in arguments}]
    if absent:
        option = draw.pick.choice(absent)
        arguments.append(Argument(draw.argument(option["type"]), option["name"]))
    return arguments


def _fewer(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    if arguments and draw.chance(0.3):
        arguments.pop()
    return arguments


def _wrong(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    if arguments and draw.chance(0.3):
        i = draw.pick.randrange(len(arguments))
        arguments[i] = replace(arguments[i], value=Opaque(draw.pick.choice(WRONG)))
    return arguments


def _number(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """A wild number for one that is there."""
    for i in draw.pick.sample(range(len(arguments)), len(arguments)):
        value = arguments[i].value
        if isinstance(value, Items) and value.parts and not arrays(value):
            k = draw.pick.randrange(len(value.parts))
            arguments[i] = replace(arguments[i], value=replace(value, parts=(*value.parts[:k], Plain(draw.pick.choice(WILD)), *value.parts[k + 1 :])))
            break
        if isinstance(value, Plain) and type(value.value) in (int, float):
            arguments[i] = replace(arguments[i], value=draw.number() if type(value.value) is float else draw.int())
            break
    return arguments


def _dtype(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """Another dtype: of one tensor, or of all of a kind."""
    all_arrays = [array for a in arguments for array in arrays(a.value)]
    if not all_arrays:
        return arguments
    old, new = draw.pick.choice(all_arrays).dtype, draw.pick.choice(DTYPES + FLOATS + COMPLEX)
    chosen = 1.0 if draw.chance(0.7) else 0.4
    change = lambda array: array.but(dtype=new) if array.dtype == old and draw.chance(chosen) else array  # noqa: E731
    return [replace(a, value=mapped(a.value, change)) for a in arguments]


def _elements(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """Wild elements in one tensor."""

    def change(array: Array) -> Array:
        if draw.chance(0.5):
            return array
        fill = [draw.element(array.dtype) if draw.chance(0.3) else v for v in array.fill]
        return array.but(fill=tuple(fill))

    return [replace(a, value=mapped(a.value, change)) for a in arguments]


def _length(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """Another length for one that tensors have: in all of them, or in some."""
    found = sorted({n for a in arguments for array in arrays(a.value) for n in array.shape})
    if not found:
        return arguments
    old, new = draw.pick.choice(found), draw.pick.choice((0, 0, 1, 2, 3, 5, 17, 64))
    chosen = 1.0 if draw.chance(0.7) else 0.5

    def change(array: Array) -> Array:
        shape = tuple(new if n == old and draw.chance(chosen) else n for n in array.shape)
        return array.but(shape=shape) if math.prod(shape) < 20_000 else array

    return [replace(a, value=mapped(a.value, change)) for a in arguments]


def _rank(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """One dimension more or less."""

    def change(array: Array) -> Array:
        if draw.chance(0.5):
            return array
        return array.but(shape=array.shape[1:] if draw.chance(0.5) else (draw.pick.choice((0, 1, 2)), *array.shape))

    return [replace(a, value=mapped(a.value, change)) for a in arguments]


def _same(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """One tensor given twice, or part of it."""
    places = [i for i, a in enumerate(arguments) if isinstance(a.value, Array)]
    if len(places) > 1 and places[0] == 0:
        text = "a0" if not draw.chance(0.4) else draw.pick.choice(("a0[:1]", "a0.transpose(0, -1)", "a0.detach()", "a0[..., :1]"))
        i = draw.pick.choice(places[1:])
        arguments[i] = replace(arguments[i], value=Alias(text))
    return arguments


def _out(draw: Draw, name: str, arguments: list[Argument]) -> list[Argument]:
    """Where results are to go: any tensor, an argument, none's."""
    if not CATALOGUE[name]["out"] or any(a.keyword == "out" for a in arguments):
        return arguments
    one = lambda: Alias(draw.pick.choice(("a0", "a0[:1]"))) if draw.chance(0.2) else Array((0,)) if draw.chance(0.3) else draw.tensor()  # noqa: E731
    count = CATALOGUE[name]["returns"].count("Tensor")
    out = one() if count == 1 else Items(tuple(one() for _ in range(count)), "()")
    return [*arguments, Argument(out, "out", changed=True, returned=True)]


# Those after which most calls are still ones that users make.
PLAUSIBLE = (_one, _option, _option, _fewer, _dtype, _dtype, _dtype, _elements, _elements, _length, _length, _rank, _same)
CHANGES = (_one, _one, _option, _option, _fewer, _wrong, _number, _number, _dtype, _dtype, _elements, _elements, _length, _length, _rank, _same, _out)


def stretch(draw: Draw, arguments: list[Argument]) -> list[Argument]:
    """One length becomes millions to billions, by expanding: in all tensors that have it, or in some."""
    found = [n for a in arguments for array in arrays(a.value) for n in array.shape]
    if not found:
        arguments = [replace(a, value=mapped(a.value, lambda array: array.but(shape=(1,)))) for a in arguments]
        found = [1]
    old, power = draw.pick.choice(found), draw.pick.randrange(26, 37)
    chosen, done = 1.0 if draw.chance(0.7) else 0.6, []

    def change(array: Array) -> Array:
        dims = [d for d, n in enumerate(array.shape) if n == old and (not done or draw.chance(chosen))]
        if not dims or 0 in array.shape:
            return array
        done.extend(dims)
        rest = math.prod(n for d, n in enumerate(array.shape) if d not in dims)
        each = max(1, (power - rest.bit_length() + 1) // len(dims))
        shape = tuple(1 if d in dims else n for d, n in enumerate(array.shape))
        return array.but(shape=shape, layout="plain", stretched=tuple((d, 2**each) for d in dims))

    return [replace(a, value=mapped(a.value, change)) for a in arguments]
