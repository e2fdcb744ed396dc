"""Linear algebra: the functions of `opforge.linalg`."""

from . import _core
from ._core import linalg as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})

# What singular matrices raise, and other arguments that cannot be meant.
LinAlgError = _core.ArgumentError
