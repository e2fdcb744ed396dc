"""Gradients where formulas have an edge: complex numbers on the axes, zeros of norms, ends of domains, ties. Values are PyTorch 2.15's."""

import math

import pytest

import opforge as torch
import opforge.nn.functional as F

INF, NAN = math.inf, math.nan
# Holomorphic functions with their derivatives, and points on the axes where the functions are differentiable.
_AXES = [0.5, 2.0, 0.5j, -0.25j, 0.3 - 0.4j]
_DERIVATIVES = {
    "exp": lambda z: z.exp(), "exp2": lambda z: math.log(2) * z.exp2(), "expm1": lambda z: z.exp(), "log": lambda z: 1 / z, "log2": lambda z: 1 / (z * math.log(2)),
    "log10": lambda z: 1 / (z * math.log(10)), "log1p": lambda z: 1 / (1 + z), "sqrt": lambda z: 0.5 / z.sqrt(), "rsqrt": lambda z: -0.5 / (z * z.sqrt()),
    "sin": lambda z: z.cos(), "cos": lambda z: -z.sin(), "tan": lambda z: 1 + z.tan() ** 2, "sinh": lambda z: z.cosh(), "cosh": lambda z: z.sinh(),
    "tanh": lambda z: 1 - z.tanh() ** 2, "asin": lambda z: 1 / (1 - z * z).sqrt(), "acos": lambda z: -1 / (1 - z * z).sqrt(), "atan": lambda z: 1 / (1 + z * z),
    "asinh": lambda z: 1 / (1 + z * z).sqrt(), "atanh": lambda z: 1 / (1 - z * z), "sigmoid": lambda z: z.sigmoid() * (1 - z.sigmoid()),
    "square": lambda z: 2 * z, "reciprocal": lambda z: -1 / (z * z),
}  # fmt: skip


@pytest.mark.parametrize("name", _DERIVATIVES)
def test_complex_gradients_on_the_axes(name):
    points = [z for z in _AXES if name not in ("asin", "acos", "atanh") or abs(z) < 1]
    z = torch.tensor(points, dtype=torch.complex128).requires_grad_()
    seed = torch.tensor([0.7 - 1.3j] * len(points), dtype=torch.complex128)
    gradient, = torch.autograd.grad(getattr(torch, name)(z), z, seed)
    with torch.no_grad():
        wanted = seed * _DERIVATIVES[name](z).conj()
    assert torch.allclose(gradient, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("side", [0.0, -0.0])
def test_root_of_a_negative_number_by_its_imaginary_part(side):
    parts = torch.tensor([-4.0, side], dtype=torch.float64).requires_grad_()
    gradient, = torch.autograd.grad(torch.view_as_complex(parts).sqrt().real, parts)
    assert gradient.tolist() == [0, math.copysign(0.25, side)]


def _gradient(function, values):
    x = torch.tensor(values, dtype=torch.float64).requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0].tolist()


_ROWS = [
    (torch.logit, [-1.0, 0.0, 0.5, 1.0, 2.0], [NAN, INF, 4, INF, NAN]),
    (lambda x: torch.logit(x, eps=0.1), [-1.0, 0.05, 0.5, 0.95], [0, 0, 4, 0]),
    (lambda x: torch.logit(x, eps=0.0), [-1.0, 0.0, 0.5, 1.0, 2.0, NAN], [0, INF, 4, INF, 0, NAN]),
    (lambda x: torch.logit(x, eps=0.5), [0.25, 0.5, 0.75], [0, 4, 0]),
    # By the exponent: of bases 0, -0, 0 and 0.
    (lambda e: torch.pow(torch.tensor([0.0, -0.0, 0.0, 0.0], dtype=e.dtype), e), [-1.0, -1.0, 0.0, 2.0], [-INF, INF, 0, 0]),
    (lambda e: torch.float_power(torch.tensor([0.0, -0.0, 0.0, 0.0]), e), [-1.0, -1.0, 0.0, 2.0], [-INF, INF, 0, 0]),
    (lambda e: 0.0**e, [-1.0, 0.0, 1.0], [-INF, 0, 0]),
    (torch.special.entr, [0.0, 1.0, -1.0], [INF, -1, NAN]),
    (lambda x: torch.xlogy(x, torch.tensor([2.0, 0.0, -1.0])), [0.0, 0.0, 0.0], [math.log(2), 0, 0]),
    (lambda x: torch.special.xlog1py(x, torch.tensor([1.0, -1.0, -2.0])), [0.0, 0.0, 0.0], [math.log(2), 0, 0]),
    (lambda x: torch.linalg.vector_norm(x, 3), [0.0, 0.0], [0, 0]),
    (lambda x: torch.linalg.vector_norm(x, 0.5), [0.0, 0.0, 4.0], [0, 0, 1]),
    (lambda x: torch.linalg.vector_norm(x, 0.5), [0.0, 0.0], [0, 0]),
    (lambda x: torch.linalg.vector_norm(x, -1), [1.0, 0.0, 2.0], [0, 0, 0]),
    (lambda x: torch.norm(x, 1.5), [0.0, 0.0], [0, 0]),
    (torch.median, [2.0, 2.0, 1.0], [0.5, 0.5, 0]),
    (torch.nanmedian, [1.0, 1.0, NAN, 2.0], [0.5, 0.5, 0, 0]),
    # Those that are NaN share the gradient of one, but not that of `amax`.
    (torch.max, [1.0, NAN, 3.0], [0, 1, 0]),
    (torch.min, [NAN, 1.0, NAN], [0.5, 0, 0.5]),
    (torch.median, [1.0, NAN, 3.0], [0, 1, 0]),
    (torch.nanmedian, [NAN, NAN], [0.5, 0.5]),
    (torch.max, [INF, INF, 1.0], [0.5, 0.5, 0]),
    (torch.amax, [1.0, NAN], [NAN, NAN]),
    (lambda x: torch.linalg.vector_norm(x, INF), [1.0, NAN, 3.0], [0, 0, 0]),
    (lambda x: torch.linalg.vector_norm(x, -INF), [-1.0, 1.0, 3.0], [-0.5, 0.5, 0]),
    # Certain mistakes and certain successes; what sigmoids give for great scores.
    (lambda p: F.binary_cross_entropy(p, torch.tensor([1.0, 0, 0, 1], dtype=p.dtype), reduction="sum"), [0.0, 1.0, 0.0, 1.0], [-1e12, 1e12, 0, 0]),
    (lambda x: F.binary_cross_entropy(x.sigmoid(), torch.tensor([1.0, 0], dtype=x.dtype), reduction="sum"), [40.0, 0.0], [0, 0.5]),
    (lambda v: F.gaussian_nll_loss(torch.zeros(2), torch.ones(2), v, eps=0.5, reduction="sum"), [0.1, 1.0], [-1, 0]),
]  # fmt: skip


@pytest.mark.parametrize("function, values, wanted", _ROWS)
def test_gradients_at_edges(function, values, wanted):
    assert _gradient(function, values) == pytest.approx(wanted, nan_ok=True)


_SECOND = [
    (torch.special.log_ndtr, [40.0, 50.0, 1e3, 1e200], [0, 0, 0, 0]),
    (torch.special.i1e, [0.0, 1e-300, 1e-40, -1e-300], [0, 0, 0, 0]),
    (torch.special.i1, [0.0, 1e-300, 1e-40], [0, 0, 0]),
    (torch.special.bessel_j1, [0.0, 1e-300, 1e-40], [0, 0, 0]),
    # Series, where PyTorch has NaN, 0 or no derivative.
    (torch.sinc, [0.0, 1e-160, 1e-10], [-math.pi**2 / 3] * 3),
    (torch.special.spherical_bessel_j0, [0.0, 1e-160, 1e-9], [-1 / 3] * 3),
]


@pytest.mark.parametrize("function, values, wanted", _SECOND)
def test_second_derivatives_at_edges(function, values, wanted):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_logit_at_its_bounds_in_each_dtype(dtype):
    x = torch.tensor([0.0, 0.5, 1.0, 2.0], dtype=dtype, requires_grad=True)
    assert torch.autograd.grad(torch.logit(x, eps=0.0).sum(), x)[0].tolist() == [INF, 4, INF, 0]


@pytest.mark.parametrize("correction", [0, 1])
def test_second_derivative_of_no_spread(correction):
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(torch.std(x, correction=correction), x, create_graph=True)
    assert torch.autograd.grad((first * torch.arange(3)).sum(), x)[0].tolist() == [0, 0, 0]


def test_certain_mistakes_in_halves():
    p = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float16, requires_grad=True)
    F.binary_cross_entropy(p, torch.tensor([1.0, 0.0, 1.0]), reduction="sum").backward()
    assert p.grad.isfinite().all() and p.grad[0] < -1000 and p.grad[1] > 1000 and p.grad[2] == 0


def test_direction_of_zero_has_no_gradient():
    z = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    assert torch.autograd.grad(torch.sgn(z).real.sum(), z)[0].tolist() == [0, 0]


def test_values_far_outside():
    assert torch.special.erfcx(torch.tensor([-1e30, -30.0], dtype=torch.float64)).tolist() == [INF, INF]
    assert math.isnan(torch.special.ndtri(torch.tensor(-1e-30)).item())


@pytest.mark.parametrize("name, wanted", [("add", 9), ("sub", 5), ("mul", 14), ("div", 3.5), ("true_divide", 3.5), ("floor_divide", 3)])
def test_arithmetic_of_two_numbers_is_a_tensor(name, wanted):
    found = getattr(torch, name)(7, 2)
    assert found.shape == () and found.item() == wanted and found.dtype == (torch.float32 if isinstance(wanted, float) else torch.int64)


def test_truncated_quotient_of_two_numbers():
    assert torch.div(7, 2, rounding_mode="trunc").item() == 3 and torch.div(-7, 2, rounding_mode="floor").item() == -4
    with pytest.raises(torch.ArgumentError, match="two numbers"):
        torch.fmod(7, 2)
