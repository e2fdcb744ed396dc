"""Complex numbers and their parts."""

import numpy as np

from . import case, holds, spread

RE, IM = spread(-2, 2), spread(-2, 2, seed=1)
Z = RE + 1j * IM

# By their names here and numpy's.
FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "sqrt": "sqrt", "exp2": "exp2", "expm1": "expm1", "log2": "log2", "log10": "log10",
    "log1p": "log1p",
}  # fmt: skip
SPECIAL = np.array([complex(re, im) for re in (0.0, -0.0, 1.0, np.inf, -np.inf) for im in (0.0, -0.0, -2.0, 1e3)] + [complex(np.nan, 1), complex(1, np.nan)])
TIES = np.array([[0, 1 + 1j, 1, 1j], [0, 0, 1 + 1j, 1j]])

CASES = [
    case("view_as_real", lambda z: np.stack([z.real, z.imag], -1), Z),
    case("view_as_real", lambda z: np.stack([z.real, z.imag], -1), np.array(1 - 2j)),
    # A view that not every layout allows.
    holds("view_as_complex", lambda z: np.testing.assert_array_equal(z, Z[0]), np.stack([RE[0], IM[0]], -1)),
    case("complex", lambda re, im: re + 1j * im, RE, IM, half=False, smooth=False),
    case("polar", lambda r, angle: r * np.exp(1j * angle), RE, IM, half=False, smooth=False),
    case("imag", np.imag, Z),
    case("real", np.real, Z),
    case("conj", np.conj, Z),
    case("angle", np.angle, Z),
    case("isreal", np.isreal, np.array([1 + 0j, 1j])),
    case("adjoint", lambda z: z.conj().T, Z),
    case("logcumsumexp", lambda z, dim: np.log(np.cumsum(np.exp(z), dim)), Z, 1, half=False),
    case("logcumsumexp", lambda z, dim: np.log(np.cumsum(np.exp(z - 600), dim)) + 600, 600 + Z, 0, half=False),
    case("cov", np.cov, Z, fweights=np.array([1, 2, 0, 3]), aweights=np.array([0.5, 1.0, 0.25, 2.0]), half=False),
    case("abs", np.abs, Z),
    case("exp", np.exp, Z),
    case("log", np.log, Z),
    case("neg", np.negative, Z),
    *(case(name, getattr(np, reference), Z, half=False) for name, reference in FUNCTIONS.items()),
    *(case(name, getattr(np, name), SPECIAL, half=False, smooth=False) for name in ("sqrt", "exp", "sinh", "cosh", "tanh", "sin", "cos")),
    case("rsqrt", lambda z: 1 / np.sqrt(z), Z, half=False),
    case("sigmoid", lambda z: 1 / (1 + np.exp(-z)), Z, half=False),
    case("sign", lambda z: z / np.abs(z), Z, half=False),
    *(case("pow", np.power, Z, power, half=False) for power in (Z[::-1].copy(), 2.5, RE, -1, 0)),
    case("pow", np.power, RE, 1 + 0.5j, half=False, smooth=False),
    case("pow", np.power, np.array([0j, 0j, 0j, 1 + 1j]), np.array([1 + 1j, 0j, 2 + 0j, 0j]), half=False, smooth=False),
    *(case(name, getattr(np, reference), TIES, TIES[::-1].copy(), half=False) for name, reference in (("eq", "equal"), ("ne", "not_equal"))),
    case("eq", np.equal, TIES, 1 + 1j, half=False),
    *(case(name, getattr(np, name), SPECIAL, half=False) for name in ("isnan", "isinf", "isfinite")),
    *(case(name, lambda z, dim, keepdim=False, name=name: getattr(np, name)(z, axis=dim, keepdims=keepdim), TIES, 1) for name in ("any", "all")),
    case("nonzero", lambda z: np.argwhere(z), TIES),
    case("cumsum", np.cumsum, Z, 1, half=False),
    case("cumprod", np.cumprod, Z, 0, half=False),
    case("prod", lambda z, dim=None, keepdim=False: z.prod(dim, keepdims=keepdim), Z, half=False),
    case("prod", lambda z, dim=None, keepdim=False: z.prod(dim, keepdims=keepdim), Z, 1, True, half=False),
    case("prod", lambda z, dim=None, keepdim=False: z.prod(dim, keepdims=keepdim), Z[:0], 0, half=False),
    case("recip", lambda z: 1 / z, Z),
    case("sqr", lambda z: z * z, Z),
    *(case(name, f, Z, Z[::-1].copy()) for name, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide))),
    *(case(name, f, Z, RE) for name, f in (("add", np.add), ("mul", np.multiply), ("div", np.divide))),
    *(case("mul", np.multiply, Z, number) for number in (2.5, 1 - 2j)),
    case("mul", np.multiply, RE, 2j, half=False, smooth=False),
    case("sum", lambda z: z.sum(), Z),
    case("sum", lambda z, dim: z.sum(dim), Z, 0),
    case("mean", lambda z, dim: z.mean(dim), Z, 1),
    case("matmul", np.matmul, Z, Z.T.copy()),
    case("matmul", np.matmul, Z, RE.T.copy(), half=False, smooth=False),
]
