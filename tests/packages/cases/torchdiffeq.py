"""torchdiffeq: solvers of differential equations, and their gradients."""

import models
import torch
import torchdiffeq
from torch import nn

PACKAGE = "torchdiffeq"


class _Field(nn.Module):
    """A vector field with weights."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3) + torch.sin(t)


def _solved(solver=torchdiffeq.odeint, **options):
    def run():
        field = models.filled(_Field())
        start = models.normal(3, 2).requires_grad_()
        path = solver(field, start, torch.linspace(0.0, 1.0, 6), **options)
        (path * models.uniform(*path.shape, name="weights of the loss")).sum().backward()
        return models.arrays([path, start.grad, *(parameter.grad for parameter in field.parameters())])

    return run


def _event():
    fall = lambda t, state: (state[1], -torch.ones_like(state[1]) * 9.8)
    start = torch.tensor([10.0]), torch.tensor([0.0])
    time, states = torchdiffeq.odeint_event(fall, start, torch.tensor(0.0), event_fn=lambda t, state: state[0], odeint_interface=torchdiffeq.odeint)
    return models.arrays([time, *states])


def _fitted():
    """Ten steps of a neural differential equation."""
    field, goal = models.filled(_Field()), models.uniform(6, 3, 2)
    optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = (torchdiffeq.odeint_adjoint(field, goal[0], torch.linspace(0.0, 1.0, 6), method="rk4") - goal).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return models.arrays(losses)


_FIXED = ("euler", "midpoint", "rk4", "heun3", "explicit_adams", "implicit_adams")
CASES = {method: _solved(method=method) for method in (*_FIXED, "dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun")} | {
    "dopri5, adjoint": _solved(torchdiffeq.odeint_adjoint, method="dopri5"),
    "event": _event,
    "fitted": _fitted,
}
