"""torchdiffeq: solutions of differential equations, and gradients through them."""

import models
import torch
from torchdiffeq import odeint, odeint_adjoint

PACKAGE = "torchdiffeq"


class Field(torch.nn.Module):
    """What a state changes by."""

    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

    def forward(self, t, y):
        """The derivative at a time."""
        return self.network(y) * torch.cos(t)


def _solved(method, solve=odeint, **options):
    def case():
        field = models.filled(Field()).double()
        start = models.normal(4, 3).double().requires_grad_()
        states = solve(field, start, torch.linspace(0, 1, 5, dtype=torch.float64), method=method, **options)
        states.square().sum().backward()
        return models.arrays([states, start.grad, {name: p.grad for name, p in field.named_parameters()}])

    return case


CASES = {method: _solved(method) for method in ("euler", "midpoint", "rk4", "dopri5", "bosh3", "adaptive_heun", "explicit_adams", "implicit_adams", "dopri8")}
CASES["dopri5, adjoint"] = _solved("dopri5", odeint_adjoint)
