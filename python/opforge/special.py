"""Special functions: the functions of `opforge.special`."""

from ._core import special as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})
