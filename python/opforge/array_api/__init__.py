"""The namespace of the Python array API standard, version 2025.12 (https://data-apis.org/array-api/2025.12/), for opforge's tensors.

Programs that are written for any array library reach it by `x.__array_namespace__()`, or with array-api-compat. Every name of the standard, with
its parameters and its types of results, is here. What PyTorch defines differently under the same name
(`opforge.sum(x, dim=..)`) stays so in `opforge` itself.

>>> xp = opforge.arange(3).__array_namespace__()
>>> xp.sum(xp.asarray([[1, 2], [3, 4]], dtype=xp.uint8), axis=1, keepdims=True).dtype
opforge.uint64

What a tensor itself has by PyTorch's rules stays so, where the standard has others: operators (`x + y`) let a tensor without dimensions lend its kind
only, so that `float32` with a 0-d `float64` gives `float32`, and `float64` by `add(x, y)`; `x.size` is a method, the number of elements `x.numel()`;
slices have no negative steps, for which there is `flip`; and as an index, uint8 is a mask, where `take` counts by it.
"""

from __future__ import annotations

from . import (
    constants,
    creation,
    data_type_functions,
    data_types,
    elementwise,
    indexing,
    linear_algebra,
    manipulation,
    searching,
    sets,
    sorting,
    statistics,
    utility,
)
from .constants import *
from .creation import *
from .data_type_functions import *
from .data_types import *
from .elementwise import *
from .indexing import *
from .info import __array_namespace_info__
from .linear_algebra import *
from .manipulation import *
from .searching import *
from .sets import *
from .sorting import *
from .statistics import *
from .utility import *

__array_api_version__ = "2025.12"

_CHAPTERS = (
    constants, creation, data_type_functions, data_types, elementwise, indexing, linear_algebra, manipulation, searching, sets, sorting, statistics,
    utility,
)  # fmt: skip
# Extensions, which are imported when they are first asked for.
_EXTENSIONS = ("fft", "linalg")

__all__ = [name for chapter in _CHAPTERS for name in chapter.__all__] + ["__array_api_version__", "__array_namespace_info__"]


def __getattr__(name):
    if name in _EXTENSIONS:
        import importlib

        try:
            return importlib.import_module(f".{name}", __name__)
        except ImportError as error:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*__all__, *_EXTENSIONS])


def _namespace(api_version):
    """This module, if it has what a version of the standard asks for: what `Tensor.__array_namespace__` returns."""
    import sys

    accepted = ("2021.12", "2022.12", "2023.12", "2024.12", __array_api_version__)
    if api_version is not None and api_version not in accepted:
        raise ValueError(f"__array_namespace__: api_version {api_version!r}, expected one of {', '.join(accepted)}")
    return sys.modules[__name__]
