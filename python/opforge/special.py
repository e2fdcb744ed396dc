"""Special functions: the functions of `opforge.special`."""

from ._core import special as _functions

globals().update({name: value for name, value in vars(_functions).items() if not name.startswith("_")})


def __getattr__(name: str):
    """Imports the orthogonal polynomials, which are written in Python, when they are first used."""
    if "_polynomial_" in name:
        from ._functional import polynomials

        if name in polynomials.__all__:
            return getattr(polynomials, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    from ._functional import polynomials

    return sorted({*globals(), *polynomials.__all__})
