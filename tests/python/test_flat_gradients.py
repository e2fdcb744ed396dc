"""Where a function is flat its gradient is 0, whatever arrives: a product with a slope of 0 would make infinity NaN. And what is given at kinks."""

import math

import pytest

import opforge as torch
import opforge.nn.functional as F

INF, NAN = math.inf, math.nan


def gradient(function, x, arriving=1.0, other=None):
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = function(x) if other is None else function(x, torch.tensor(other, dtype=torch.float64))
    return torch.autograd.grad(y, x, torch.full_like(y, arriving))[0].tolist()


def same(given, expected):
    assert len(given) == len(expected)
    assert all(a == b or math.isnan(a) and math.isnan(b) for a, b in zip(given, expected)), (given, expected)


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_infinite_gradient_stops_at_relu(create_graph):
    x = torch.tensor([-1.0, 0.0, 2.0, NAN], requires_grad=True)
    y = F.relu(x)
    (grad,) = torch.autograd.grad(y, x, torch.full_like(y, INF), create_graph=create_graph)
    same(grad.tolist(), [0.0, 0.0, INF, INF])


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda x: (x * 1).relu_(), [-1.0, 2.0], [0.0, INF]),
        (lambda x: x.clamp(-1, 1), [-2.0, -1.0, 0.5, 1.0, 3.0, NAN], [0.0, 0.0, INF, 0.0, 0.0, 0.0]),
        (lambda x: x.clamp(torch.full_like(x, -1), torch.full_like(x, 1)), [-2.0, 0.5, 3.0], [0.0, INF, 0.0]),
        (F.hardtanh, [-2.0, -1.0, 0.5, 1.0, NAN], [0.0, 0.0, INF, 0.0, INF]),
        (F.relu6, [-2.0, 0.0, 0.5, 6.0, NAN], [0.0, 0.0, INF, 0.0, INF]),
        (F.hardswish, [-INF, -4.0, -3.0, -2.0, 0.0, 3.0, 5.0, INF, NAN], [0.0, 0.0, 0.0, -INF, INF, INF, INF, INF, INF]),
        (F.softshrink, [-1.0, -0.5, 0.0, 0.5, 2.0], [INF, 0.0, 0.0, 0.0, INF]),
        (lambda x: x**0, [-1.0, 0.0, 2.0], [0.0, 0.0, 0.0]),
        (torch.sinc, [0.0], [0.0]),
        (lambda x: x.max(), [1.0, 3.0, 2.0], [0.0, INF, 0.0]),
        (lambda x: x.amin(0), [1.0, 3.0, 2.0], [INF, 0.0, 0.0]),
        (lambda x: F.margin_ranking_loss(x, torch.zeros_like(x), torch.ones_like(x), reduction="none"), [-1.0, 2.0], [-INF, 0.0]),
    ],
)
def test_an_infinite_gradient_stops_at_flat_parts(function, x, expected):
    same(gradient(function, x, INF), expected)


@pytest.mark.parametrize("function", [torch.maximum, torch.minimum, torch.fmax, torch.fmin])
def test_an_infinite_gradient_goes_to_the_winner(function):
    wins = INF if function in (torch.maximum, torch.fmax) else 0.0
    same(gradient(function, [2.0, 1.0, 3.0], INF, [1.0, 2.0, 3.0]), [wins, INF - wins if wins == 0.0 else 0.0, INF])
    same(gradient(function, [3.0], 1.0, [3.0]), [0.5])


def test_gradients_at_kinks():
    same(gradient(F.celu, [0.0, NAN]), [1.0, 1.0])
    same(gradient(F.elu, [0.0, NAN]), [1.0, 1.0])
    same(gradient(torch.atan2, [0.0], 1.0, [0.0]), [0.0])
    for loss in (F.huber_loss, F.smooth_l1_loss):
        same(gradient(lambda x, y, loss=loss: loss(x, y, reduction="none"), [INF, -INF, 1.0], 1.0, [0.0, 0.0, 0.0]), [1.0, -1.0, 1.0])
        assert math.isnan(gradient(lambda x, loss=loss: loss(x, x.detach() * 0), [NAN])[0])
    same(gradient(torch.maximum, [NAN, 1.0], 1.0, [1.0, NAN]), [1.0, 1.0])
    same(gradient(lambda x: x.clamp(min=-1), [INF, -INF]), [1.0, 0.0])
    same(gradient(F.hardsigmoid, [NAN, 0.5]), [0.0, 1.0 / 6.0])


def test_margins_are_flat_for_nan():
    same(gradient(lambda x, y: F.margin_ranking_loss(x, y, torch.ones_like(x), reduction="none"), [NAN, 0.0], 1.0, [0.0, 1.0]), [0.0, -1.0])
