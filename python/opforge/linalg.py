"""Linear algebra: the functions of `opforge.linalg`."""

from ._core import LinAlgError  # noqa: F401
from ._core import linalg as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})

# Written in Python, and imported when they are first used.
_LAZY = ("ldl_factor", "ldl_factor_ex", "ldl_solve")


def __getattr__(name: str):
    if name in _LAZY:
        from ._functional import factors

        return getattr(factors, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY})
