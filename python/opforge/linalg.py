"""Linear algebra: the functions of `opforge.linalg`."""

from ._core import linalg as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})
