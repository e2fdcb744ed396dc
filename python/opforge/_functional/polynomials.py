"""Orthogonal polynomials of `opforge.special`, by their recurrences (Abramowitz and Stegun, "Handbook of mathematical functions", 22.7).

`n` is a number or a tensor, which broadcasts with `input`; it is rounded towards 0, and polynomials of negative and of infinite degree are 0. All is
computed in float64; results are of the dtype that both promote to, or of the default dtype if that is of integers. `input` has a gradient.
"""

from __future__ import annotations

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.outputs import takes_out

# The polynomial of degree 1, and that of degree k + 1 from those of degrees k and k - 1.
_DOUBLED = lambda x, k, p, before: 2 * x * p - before  # noqa: E731
_RECURRENCES = {
    "chebyshev_polynomial_t": (lambda x: x, _DOUBLED),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _DOUBLED),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _DOUBLED),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _DOUBLED),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, p, before: 2 * (x * p - k * before)),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, p, before: x * p - k * before),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)),
}
_NAMES = {
    "chebyshev_polynomial_t": "Chebyshev polynomial of the first kind, `T_n`",
    "chebyshev_polynomial_u": "Chebyshev polynomial of the second kind, `U_n`",
    "chebyshev_polynomial_v": "Chebyshev polynomial of the third kind, `V_n`",
    "chebyshev_polynomial_w": "Chebyshev polynomial of the fourth kind, `W_n`",
    "hermite_polynomial_h": "physicist's Hermite polynomial, `H_n`",
    "hermite_polynomial_he": "probabilist's Hermite polynomial, `He_n`",
    "laguerre_polynomial_l": "Laguerre polynomial, `L_n`",
    "legendre_polynomial_p": "Legendre polynomial, `P_n`",
}


def _polynomial(name, input, n):
    if not isinstance(input, _C.Tensor) and not isinstance(n, _C.Tensor):
        raise TypeError(f"{name}(): input and n are numbers, expected a tensor as one of them at least")
    x = input if isinstance(input, _C.Tensor) else _C.tensor(input)
    if x.is_complex():
        raise RuntimeError(f"{name}: input of dtype {x.dtype}, expected real numbers")
    if isinstance(n, complex) or isinstance(n, _C.Tensor) and n.is_complex():
        raise RuntimeError(f"{name}: n is complex, expected real numbers")
    dtype = _C.result_type(input, n)
    dtype = dtype if dtype.is_floating_point else _C.get_default_dtype()
    x, degree = x.to(_C.float64), n if isinstance(n, _C.Tensor) else _C.tensor(n)
    x, degree = _C.broadcast_tensors(x, degree.to(_C.float64).trunc().nan_to_num(-1.0, -1.0, -1.0))
    x = 2 * x - 1 if name.startswith("shifted_") else x
    return _of_degree(x, degree, *_RECURRENCES[name.removeprefix("shifted_")]).to(dtype)


def _of_degree(x, degree, first, following):
    """The polynomial of each element's degree: one after the other, and those that are asked for are kept."""
    highest = int(degree.max().item()) if degree.numel() else 0
    before, p = _C.ones_like(x), first(x)
    result = _C.where(degree == 0, before, _C.zeros_like(x))
    for k in range(1, highest + 1):
        result = _C.where(degree == k, p, result)
        if k % 64 == 0 and not p.isfinite().any().item():
            return _C.where(degree > k, _C.nan, result)  # so are all that follow
        if k < highest:
            before, p = p, following(x, k, p, before)
    return result


def _named(name):
    def polynomial(input, n):
        return _polynomial(name, input, n)

    argument = "2 input - 1" if name.startswith("shifted_") else "input"
    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"The {_NAMES[name.removeprefix('shifted_')]}({argument})."
    return takes_out(polynomial)


__all__ = [*_RECURRENCES, *(f"shifted_{name}" for name in _RECURRENCES if name.startswith("chebyshev"))]
globals().update({name: _named(name) for name in __all__})


name_arguments(globals())
