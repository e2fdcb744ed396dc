"""The calls that a seed stands for: call `number` of a seed is the same whatever else is drawn."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
from collections.abc import Iterator

import cases

from . import declared, written
from .calls import Call
from .declared import NAMES
from .draw import Draw

FILES = [importlib.import_module(f"cases.{m.name}") for m in pkgutil.iter_modules([str(pathlib.Path(cases.__file__).parent)])]
SAMPLES: dict[str, list[cases.Case]] = {}
for _case in (case for file in FILES for case in file.CASES):
    SAMPLES.setdefault(_case.name, []).append(_case)


def call(seed: int, number: int, stretched: bool = False, only: str = "") -> Call:
    """One call. `only` names the function, if it is to be one."""
    draw = Draw(f"{seed}:{number}")
    if not only and draw.chance(0.1):
        return written.drawn(draw, stretched)
    name = only or draw.pick.choice(NAMES)
    arguments = None
    if name in SAMPLES and draw.chance(0.6):
        arguments = declared.sample(draw.pick.choice(SAMPLES[name]))
    if arguments is not None:
        arguments = declared.vary(draw, name, arguments)
    else:
        arguments = declared.drawn(draw, name)
    if stretched:
        arguments = declared.stretch(draw, arguments)
    return declared.assemble(draw, name, arguments)


def calls(seed: int, numbers: range, share: float, only: str = "") -> Iterator[Call]:
    """Calls of these numbers, `share` of them over stretched tensors, evenly among the others."""
    for number in numbers:
        yield call(seed, number, int((number + 1) * share) > int(number * share), only)
