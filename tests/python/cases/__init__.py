"""Sample calls of every declared function, with references of numpy's and scipy's: small tables, a file a family.

`case("lerp", lambda a, b, w: a + w * (b - a), X, Y, 0.3)` calls the function that Rust calls `lerp` with these arguments; arrays become
tensors. What the suite does with it is in `test_registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import opforge as torch
from opforge import _core

CATALOGUE = {function["name"]: function for function in _core.catalogue()}
PLACES = {"torch": torch, "nn": _core.nn, "fft": _core.fft, "linalg": _core.linalg, "special": _core.special, "method": torch.Tensor, "hidden": _core}


@dataclass(frozen=True)
class Case:
    """One call. The reference takes the same arguments, with arrays for tensors; or it is a law that results obey (`holds`)."""

    name: str
    reference: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    # Whether differences tell the gradient here, and the gradient's.
    smooth: bool = True
    # Whether there is a second derivative: fused recurrences have none.
    twice: bool = True
    # Element by element: defined on every shape.
    pointwise: bool = False
    # How much coarser than usual the comparison must be.
    tolerance: float = 1.0
    # Whether the reference gives the values, rather than a law of random ones.
    exact: bool = True
    # Whether low precision makes sense for these arguments.
    half: bool = True

    def __str__(self) -> str:
        shapes = [str(list(a.shape)) if isinstance(a, np.ndarray) else str(a)[:12] for a in self.args]
        options = [f"{key}={value}"[:20] for key, value in self.options.items()]
        return f"{self.name}({','.join(shapes + options)})".replace(" ", "")

    @property
    def entry(self) -> dict[str, Any]:
        return CATALOGUE[self.name]

    @property
    def function(self) -> Callable[..., Any]:
        """The function as users call it: of the module if it is there, else of a submodule, else a method."""
        return self.shown_in(next((place for place in PLACES if place in self.entry["faces"]), "in_place"))

    def shown_in(self, place: str) -> Callable[..., Any]:
        name = self.entry["python_name"]
        return getattr(torch.Tensor, name + "_") if place == "in_place" else getattr(PLACES[place], name)

    def expected(self, args: tuple[Any, ...]) -> Any:
        return self.reference(*args, **self.options)


def case(name: str, reference: Callable[..., Any], *args: Any, **options: Any) -> Case:
    flags = {flag: options.pop(flag) for flag in ("smooth", "twice", "pointwise", "tolerance", "exact", "half") if flag in options}
    return Case(name, reference, args, options, **flags)


def holds(name: str, law: Callable[..., Any], *args: Any, **options: Any) -> Case:
    """A call whose results (as arrays) are checked by assertions in `law`."""
    return case(name, lambda *results, **_: law(*results), *args, exact=False, smooth=False, half=False, **options)


def spread(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers from a range, the same at every call."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape or (3, 4))


def whole(low: int, high: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers from `low` to `high - 1`."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape or (3, 4))
