"""What calls of a declared function take and give: found by making its sample calls, those of `tests/python/cases`."""

from __future__ import annotations

import pathlib
import pkgutil
import sys
from importlib import import_module

import numpy as np
import opforge as torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/python"))

import cases  # noqa: E402

DTYPES = """
bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128
""".split()
# Of a call's arrays, those of the first kind that it has are given another dtype; the others are masks, classes and positions.
KINDS = "fiub"

SAMPLES: dict[str, list[cases.Case]] = {}
for module in pkgutil.iter_modules(cases.__path__):
    for sample in import_module(f"cases.{module.name}").CASES:
        SAMPLES.setdefault(sample.name, []).append(sample)


def leaves(value: object) -> list:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def mapped(value: object, change):
    """Arguments with each array changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    return type(value)(mapped(part, change) for part in value) if isinstance(value, (tuple, list)) else value


def run(sample: cases.Case, dtype: str, **options: bool) -> list:
    """The results of a sample call in a dtype, once they are there."""
    given = (sample.args, list(sample.options.values()))
    kinds = {leaf.dtype.kind for leaf in leaves(given) if isinstance(leaf, np.ndarray)}
    kind = next((kind for kind in KINDS if kind in kinds), None)

    def tensor(array: np.ndarray) -> torch.Tensor:
        if array.dtype.kind != kind:
            return torch.tensor(array)
        return torch.tensor(array).to(getattr(torch, dtype)).requires_grad_(bool(options))

    args, values = mapped(given, tensor)
    named = dict(zip(sample.options, values, strict=True))
    if kind is None and any(p["name"] == "dtype" for p in sample.entry["parameters"]):
        named["dtype"] = getattr(torch, dtype)
    results = [leaf for leaf in leaves(sample.function(*args, **named)) if isinstance(leaf, torch.Tensor)]
    for result in results:
        result.detach().tolist()
    return results


def takes(sample: cases.Case, dtype: str) -> bool:
    try:
        run(sample, dtype)
    except (torch.OpforgeError, RuntimeError, TypeError, ValueError, OverflowError):
        return False
    return True


def dtypes(name: str) -> list[str]:
    """The dtypes in which one of a function's sample calls succeeds."""
    return [dtype for dtype in DTYPES if any(takes(sample, dtype) for sample in SAMPLES.get(name, ()))]


def gradient(name: str) -> bool:
    """Whether one of a function's sample calls gives a result that has a gradient."""
    for sample in SAMPLES.get(name, ()):
        try:
            if any(result.requires_grad for result in run(sample, "float64", grad=True)):
                return True
        except (torch.OpforgeError, RuntimeError):
            continue
    return False
