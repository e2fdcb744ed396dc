"""Linear algebra: the functions of `opforge.linalg`."""

from ._core import ArgumentError as LinAlgError  # noqa: F401  what singular matrices and the like raise
from ._core import linalg as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})


def __getattr__(name: str):
    """Imports what is written in Python when it is first used."""
    if name in ("ldl_factor", "ldl_factor_ex", "ldl_solve"):
        from ._functional import factors

        return getattr(factors, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
