"""torchcde: controlled differential equations, and the paths that control them."""

import models
import torch
import torchcde

PACKAGE = "torchcde"


def _series(missing=False):
    x = models.normal(3, 7, 2).cumsum(1)
    if missing:
        x[:, 2:4, 1] = float("nan")
    return x


def _path(coefficients, path, missing=False):
    def run():
        x = _series(missing)
        line = path(coefficients(x))
        times = torch.tensor([0.0, 0.5, 2.25, 5.9])
        return models.arrays([line.evaluate(times), line.derivative(times), line.interval, line.grid_points])

    return run


class _Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 2)


def _solved(adjoint, **options):
    def run():
        line = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(_series()))
        field, start = models.filled(_Field()), models.normal(3, 4).requires_grad_()
        z = torchcde.cdeint(X=line, func=field, z0=start, t=line.interval, adjoint=adjoint, **options)
        (z * models.uniform(*z.shape)).sum().backward()
        return models.arrays([z, start.grad, *(parameter.grad for parameter in field.parameters())])

    return run


CASES = {
    "hermite": _path(torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline),
    "hermite, missing": _path(torchcde.hermite_cubic_coefficients_with_backward_differences, torchcde.CubicSpline, True),
    "natural": _path(torchcde.natural_cubic_coeffs, torchcde.CubicSpline),
    "natural, missing": _path(torchcde.natural_cubic_coeffs, torchcde.CubicSpline, True),
    "linear, missing": _path(torchcde.linear_interpolation_coeffs, torchcde.LinearInterpolation, True),
    "rectilinear": _path(
        lambda x: torchcde.linear_interpolation_coeffs(torch.cat([torch.linspace(0, 1, 7).repeat(3, 1)[..., None], x], 2), rectilinear=0),
        torchcde.LinearInterpolation,
    ),
    "cdeint": _solved(False, method="rk4", options={"step_size": 0.5}),
    "cdeint, adjoint": _solved(True, method="rk4", options={"step_size": 0.5}),
}
