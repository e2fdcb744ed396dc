"""torchsde: solvers of stochastic differential equations, and their gradients. The path of the noise is given."""

import models
import torch
import torchsde
from torch import nn

PACKAGE = "torchsde"
STEPS = 8


class _Equation(nn.Module):
    def __init__(self, noise_type="diagonal", sde_type="ito"):
        super().__init__()
        self.noise_type, self.sde_type = noise_type, sde_type
        self.drift, self.scale = nn.Linear(3, 3), nn.Parameter(torch.zeros(3))

    def f(self, t, y):
        return torch.tanh(self.drift(y)) + torch.sin(t)

    def g(self, t, y):
        spread = torch.sigmoid(self.scale * y)
        return spread.unsqueeze(2).expand(-1, -1, 2) if self.noise_type == "general" else spread


class _Path(torchsde.BrownianInterval):
    """A path that is linear between given points."""

    def __init__(self, width):
        steps = models.normal(STEPS, 4, width, name="noise") / STEPS**0.5
        points = torch.cat([torch.zeros(1, 4, width), steps.cumsum(0)])
        super().__init__(0.0, 1.0, size=(4, width), entropy=0, levy_area_approximation="space-time")
        self.points = points

    def _at(self, t):
        place = min(max(float(t) * STEPS, 0.0), float(STEPS))
        below = min(int(place), STEPS - 1)
        return self.points[below] + (place - below) * (self.points[below + 1] - self.points[below])

    def __call__(self, ta, tb=None, return_U=False, return_A=False):
        change = self._at(tb) - self._at(ta)
        area = 0.5 * (tb - ta) * change
        return (change, area) if return_U else change


def _solved(method, solver=torchsde.sdeint, noise_type="diagonal", sde_type="ito", **options):
    def run():
        equation = models.filled(_Equation(noise_type, sde_type))
        start = models.normal(4, 3).requires_grad_()
        times = torch.linspace(0.0, 1.0, 5)
        path = solver(equation, start, times, bm=_Path(2 if noise_type == "general" else 3), method=method, dt=1 / STEPS, **options)
        (path * models.uniform(*path.shape, name="weights of the loss")).sum().backward()
        return models.arrays([path, start.grad, *(parameter.grad for parameter in equation.parameters())])

    return run


def _brownian():
    """Increments of a path agree with each other wherever they are asked for."""
    path = torchsde.BrownianInterval(0.0, 1.0, size=(3, 2), entropy=5)
    whole, parts = path(0.0, 1.0), path(0.0, 0.3) + path(0.3, 1.0)
    return models.arrays([(whole - parts).abs().max() < 1e-5, torch.tensor(whole.shape)])


CASES = {
    "euler": _solved("euler"),
    "milstein": _solved("milstein"),
    "srk": _solved("srk"),
    "euler, general noise": _solved("euler", noise_type="general"),
    "midpoint": _solved("midpoint", sde_type="stratonovich"),
    "heun": _solved("heun", sde_type="stratonovich"),
    "reversible_heun": _solved("reversible_heun", sde_type="stratonovich"),
    "euler_heun, general noise": _solved("euler_heun", noise_type="general", sde_type="stratonovich"),
    "midpoint, adjoint": _solved("midpoint", torchsde.sdeint_adjoint, sde_type="stratonovich", adjoint_method="midpoint"),
    "BrownianInterval": _brownian,
}
