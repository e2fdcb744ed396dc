"""One element in, one element out."""

import numpy as np
from scipy import special

from . import case, spread, whole

X = spread(-2, 2)
POSITIVE = spread(0.3, 3)
UNIT = spread(-0.9, 0.9)
ABOVE_ONE = spread(1.1, 3)
A, B = spread(-3, 3), spread(0.5, 2.5, seed=1)
I, J = whole(-9, 10), whole(1, 7, seed=1)
TRUTH = whole(0, 2).astype(bool)


def unary(name, reference, x=X, **options):
    return case(name, reference, x, pointwise=True, **options)


def binary(name, reference, a=A, b=B, **options):
    return [
        case(name, reference, a, b, pointwise=True, **options),
        case(name, reference, a[:, None], b[:1], pointwise=True, **options),
    ]


def lgamma(x):
    return np.where(np.isneginf(x), np.inf, special.gammaln(x))


def sign(x):
    """As PyTorch has it: 0 for NaN."""
    return np.where(np.isnan(x), 0.0, np.sign(x))


def limits(f, up, down):
    """A function that scipy does not know at infinity."""
    return lambda x: np.where(np.isinf(x), np.where(x > 0, up, down), f(x))


def heaviside(x, at_zero):
    """As PyTorch has it: 0 for NaN."""
    return np.where(x == 0, at_zero, (x > 0).astype(x.dtype))


CASES = [
    unary("abs", np.abs),
    unary("absolute", np.abs),
    unary("acos", np.arccos, UNIT),
    unary("arccos", np.arccos, UNIT),
    unary("acosh", np.arccosh, ABOVE_ONE),
    unary("arccosh", np.arccosh, ABOVE_ONE),
    unary("asin", np.arcsin, UNIT),
    unary("arcsin", np.arcsin, UNIT),
    unary("asinh", np.arcsinh),
    unary("arcsinh", np.arcsinh),
    unary("atan", np.arctan),
    unary("arctan", np.arctan),
    unary("atanh", np.arctanh, UNIT),
    unary("arctanh", np.arctanh, UNIT),
    unary("ceil", np.ceil),
    unary("copy", np.copy),
    unary("clone", np.copy),
    unary("contiguous", np.copy),
    unary("cos", np.cos),
    unary("cosh", np.cosh),
    unary("deg2rad", np.deg2rad),
    unary("rad2deg", np.rad2deg),
    unary("digamma", special.digamma, POSITIVE),
    unary("psi", special.digamma, POSITIVE),
    unary("erf", special.erf),
    unary("erfc", special.erfc),
    unary("erfinv", special.erfinv, UNIT, tolerance=4),
    unary("exp", np.exp),
    unary("exp2", np.exp2),
    unary("expm1", np.expm1),
    unary("expit", special.expit),
    unary("fix", np.trunc),
    unary("floor", np.floor),
    unary("frac", lambda x: x - np.trunc(x)),
    unary("isfinite", np.isfinite),
    unary("isinf", np.isinf),
    unary("isnan", np.isnan),
    unary("isneginf", np.isneginf),
    unary("isposinf", np.isposinf),
    unary("lgamma", lgamma, POSITIVE),
    unary("gammaln", lgamma, POSITIVE),
    unary("log", np.log, POSITIVE),
    unary("log10", np.log10, POSITIVE),
    unary("log1p", np.log1p, POSITIVE),
    unary("log2", np.log2, POSITIVE),
    unary("logical_not", np.logical_not),
    unary("logit", special.logit, (UNIT + 1) / 2),
    case("logit", lambda x, eps: special.logit(np.clip(x, eps, 1 - eps)), (UNIT + 1) / 2, eps=0.2),
    unary("ndtr", special.ndtr),
    unary("entr", special.entr, POSITIVE),
    unary("nan_to_num", np.nan_to_num),
    case("nan_to_num", np.nan_to_num, np.array([np.nan, np.inf, -np.inf, 1.0]), nan=1.0, posinf=2.0, neginf=3.0, smooth=False),
    unary("neg", np.negative),
    unary("negative", np.negative),
    unary("positive", np.positive),
    unary("recip", np.reciprocal, POSITIVE),
    unary("round", np.round),
    case("round", lambda x, decimals: np.round(x, decimals), X, decimals=1, smooth=False, half=False),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    unary("sigmoid", special.expit),
    unary("sign", sign),
    unary("sgn", sign),
    unary("signbit", np.signbit),
    unary("sin", np.sin),
    unary("sinc", np.sinc),
    unary("sinh", np.sinh),
    unary("sqr", np.square),
    unary("sqrt", np.sqrt, POSITIVE),
    unary("tan", np.tan, UNIT),
    unary("tanh", np.tanh),
    unary("third_power", lambda x: x**3),
    unary("trunc", np.trunc),
    case("affine", lambda x, mul, add: mul * x + add, X, 2.0, -0.5),
    case("to_dtype", lambda x, dtype: x.astype(dtype), X, dtype="int64", smooth=False),
    *(case("polygamma", special.polygamma, n, POSITIVE, tolerance=10) for n in (1, 2)),
    case("polygamma_method", lambda x, n: special.polygamma(n, x), POSITIVE, 2, tolerance=10),
    # Special functions.
    unary("i0", limits(special.i0, np.inf, np.inf)),
    unary("i0e", special.i0e),
    unary("i1", limits(special.i1, np.inf, -np.inf)),
    unary("i1e", special.i1e),
    unary("modified_bessel_i0", limits(special.i0, np.inf, np.inf)),
    unary("modified_bessel_i1", limits(special.i1, np.inf, -np.inf)),
    unary("modified_bessel_k0", special.k0, POSITIVE),
    unary("modified_bessel_k1", special.k1, POSITIVE),
    unary("scaled_modified_bessel_k0", special.k0e, POSITIVE),
    unary("scaled_modified_bessel_k1", special.k1e, POSITIVE),
    unary("bessel_j0", limits(special.j0, 0, 0)),
    unary("bessel_j1", limits(special.j1, 0, 0)),
    unary("bessel_y0", limits(special.y0, 0, np.nan), POSITIVE),
    unary("bessel_y1", limits(special.y1, 0, np.nan), POSITIVE),
    unary("spherical_bessel_j0", lambda x: special.spherical_jn(0, x), POSITIVE),
    unary("airy_ai", limits(lambda x: special.airy(x)[0], 0, 0), smooth=False),
    unary("erfcx", special.erfcx),
    unary("log_ndtr", special.log_ndtr),
    unary("ndtri", special.ndtri, (UNIT + 1) / 2, tolerance=4),
    *(entry for name, f in [("igamma", special.gammainc), ("gammainc", special.gammainc), ("igammac", special.gammaincc),
      ("gammaincc", special.gammaincc), ("zeta", special.zeta)] for entry in binary(name, f, ABOVE_ONE, POSITIVE, smooth=False)),
    # Of real numbers.
    *(unary(name, np.copy) for name in ("conj", "conj_physical", "resolve_conj", "resolve_neg", "real")),
    unary("isreal", np.isreal, smooth=False),
    unary("angle", lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0))),
    # Two operands.
    *binary("add", np.add),
    case("add", lambda a, b, alpha: a + alpha * b, A, B, alpha=-0.5),
    case("add", np.add, A, 1.5),
    case("add", np.add, 1.5, A),
    case("add", np.add, I, J),
    *binary("sub", np.subtract),
    *binary("subtract", np.subtract),
    case("sub", lambda a, b, alpha: a - alpha * b, I, J, alpha=2),
    *binary("rsub", lambda a, b: b - a),
    case("rsub", lambda a, b, alpha: b - alpha * a, A, B, alpha=2),
    *binary("mul", np.multiply),
    *binary("multiply", np.multiply),
    *binary("div", np.divide),
    *binary("divide", np.divide),
    *binary("true_divide", np.divide),
    case("div", lambda a, b: np.divide(a, b).astype(np.float32), I, J),
    case("div", lambda a, b, rounding_mode: np.trunc(a / b), A, B, rounding_mode="trunc"),
    case("div", lambda a, b, rounding_mode: np.floor(a / b), A, B, rounding_mode="floor"),
    case("div", lambda a, b, rounding_mode: a // b, I, J, rounding_mode="floor"),
    *binary("floor_divide", np.floor_divide),
    case("floor_divide", np.floor_divide, I, J),
    case("floor_divide", np.floor_divide, I, -J),
    *binary("remainder", np.remainder),
    case("remainder", np.remainder, I, -J),
    *binary("fmod", np.fmod),
    case("fmod", np.fmod, I, -J),
    *binary("pow", np.power, POSITIVE, A),
    case("pow", np.power, A, 3),
    case("pow", np.power, 2.0, A),
    case("pow", np.power, I, J),
    *binary("float_power", np.float_power, POSITIVE, A, half=False),
    *binary("atan2", np.arctan2),
    *binary("arctan2", np.arctan2),
    *binary("copysign", np.copysign, POSITIVE, A),
    *binary("fmax", np.fmax),
    *binary("fmin", np.fmin),
    *binary("maximum", np.maximum),
    *binary("minimum", np.minimum),
    *binary("hypot", np.hypot),
    *binary("logaddexp", np.logaddexp),
    *binary("logaddexp2", np.logaddexp2),
    *binary("xlogy", special.xlogy),
    *binary("exp_times", lambda a, b: np.exp(a) * b),
    *binary("xlog1py", special.xlog1py),
    *binary("heaviside", heaviside),
    *binary("ldexp", lambda a, b: a * 2.0**b, A, J.astype(float), half=False),
    *(entry for name, f in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal), ("gt", np.greater),
      ("ge", np.greater_equal), ("not_equal", np.not_equal), ("less", np.less), ("less_equal", np.less_equal),
      ("greater", np.greater), ("greater_equal", np.greater_equal)] for entry in [*binary(name, f), case(name, f, I, 2), case(name, f, I, I)]),
    *(case(name, f, a, b) for name, f in [("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)]
      for a, b in [(A, I), (TRUTH, I > 0), (I, J)]),
    *(case(name, f, a, b) for name, f in [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)]
      for a, b in [(I, J), (TRUTH, I > 0), (I, 5)]),
    case("bitwise_not", np.bitwise_not, I),
    case("bitwise_not", np.logical_not, TRUTH),
    case("bitwise_left_shift", np.left_shift, I, J),
    case("bitwise_right_shift", np.right_shift, I, J),
    case("gcd", np.gcd, I, J),
    case("lcm", np.lcm, I, J),
    # More.
    case("clamp", np.clip, A, -1.0, 1.5),
    case("clip", np.clip, A, -1.0, 1.5),
    case("clamp", np.clip, A, UNIT - 1, UNIT + 1),
    case("clamp", np.clip, I, 0, 5),
    case("clamp_min", np.maximum, A, 0.25),
    case("clamp_max", np.minimum, A, UNIT),
    case("lerp", lambda a, b, w: a + w * (b - a), A, B, 0.3),
    case("lerp", lambda a, b, w: a + w * (b - a), A, B, POSITIVE, tolerance=2),
    case("addcmul", lambda x, a, b: x + a * b, X, A, B),
    case("addcmul", lambda x, a, b, value: x + value * a * b, X, A, B[:1], value=0.5),
    case("addcdiv", lambda x, a, b, value: x + value * a / b, X, A, B, value=-2),
    case("where_cond", np.where, TRUTH, A, B),
    case("where_cond", np.where, TRUTH, A, 0.0),
    case("where_method", lambda x, c, y: np.where(c, x, y), A, TRUTH, B),
    case("where_method", lambda x, c, y: np.where(c, x, y), A, TRUTH, -1.0),
    case("copy_into", lambda a, b: np.broadcast_to(b, a.shape), A, B[:1], smooth=False),
    case("copy_number", lambda a, b: np.full_like(a, b), A, 2.5, smooth=False),
    # Questions.
    case("equal", np.array_equal, A, A),
    case("equal", np.array_equal, A, B),
    case("isclose", np.isclose, A, A * (1 + 1e-6)),
    case("isclose", np.isclose, A, B, rtol=0.5, atol=0.25),
    case("allclose", np.allclose, A, A * (1 + 1e-6), half=False),
    case("allclose", np.allclose, A, B),
]
CASES = [c for entry in CASES for c in (entry if isinstance(entry, list) else [entry])]
