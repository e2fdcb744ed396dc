"""The functions between the layers of networks."""

import numpy as np
from scipy import special

from . import case, spread

X = spread(-3, 3)
FAR = spread(-8, 8)
WEIGHT = spread(0.1, 0.4, 4)


def f(name, reference, x=X, *args, **options):
    return case(name, reference, x, *args, pointwise=not args and not options, **options)


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def hardsigmoid(x):
    return np.clip(x / 6 + 0.5, 0, 1)


def glu(x, dim=-1):
    a, b = np.split(x, 2, axis=dim)
    return a * special.expit(b)


CASES = [
    f("relu", lambda x: np.maximum(x, 0)),
    f("relu6", lambda x: np.clip(x, 0, 6), FAR),
    f("elu", elu),
    f("elu", elu, X, 0.5),
    f("celu", lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)), X, 0.5),
    f("selu", lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772)),
    f("gelu", lambda x: x * special.ndtr(x)),
    f("gelu", lambda x, approximate: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), X, approximate="tanh"),
    f("silu", lambda x: x * special.expit(x)),
    f("mish", lambda x: x * np.tanh(softplus(x))),
    f("softplus", softplus),
    f("softplus", softplus, FAR, 2.0, 3.0),
    f("logsigmoid", lambda x: -np.logaddexp(0, -x)),
    f("leaky_relu", lambda x: np.where(x > 0, x, 0.01 * x)),
    f("leaky_relu", lambda x, s: np.where(x > 0, x, s * x), X, 0.3),
    f("prelu", lambda x, w: np.where(x > 0, x, w * x), X, WEIGHT),
    f("hardtanh", lambda x: np.clip(x, -1, 1)),
    f("hardtanh", np.clip, X, -0.5, 2.0),
    f("hardsigmoid", hardsigmoid, FAR),
    f("hardswish", lambda x: x * hardsigmoid(x), FAR),
    f("hardshrink", lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
    f("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    f("tanhshrink", lambda x: x - np.tanh(x)),
    f("softsign", lambda x: x / (1 + np.abs(x))),
    f("threshold", lambda x, threshold, value: np.where(x > threshold, x, value), X, 0.5, -1.0),
    case("glu", glu, X),
    f("glu", glu, spread(-2, 2, 4, 3), 0),
    f("softmax", special.softmax, X, 1),
    f("softmax", special.softmax, X, 0),
    f("log_softmax", special.log_softmax, X, -1),
]
