"""higher: gradients through steps of optimizers."""

import higher
import models
import torch
from torch import nn

PACKAGE = "higher"


def _unrolled(build, **options):
    def run():
        network = models.filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)))
        optimizer = build(network.parameters())
        with higher.innerloop_ctx(network, optimizer, copy_initial_weights=False, **options) as (inner, steps):
            for step in range(3):
                steps.step(inner(models.normal(4, 5, name=f"input {step}")).square().mean())
            loss = inner(models.normal(4, 5)).square().mean()
            loss.backward()
        return models.arrays([loss, *(parameter.grad for parameter in network.parameters())])

    return run


def _learned_rate():
    network = models.filled(nn.Linear(5, 2))
    rate = torch.tensor([0.1], requires_grad=True)
    with higher.innerloop_ctx(network, torch.optim.SGD(network.parameters(), lr=1.0), override={"lr": [rate]}) as (inner, steps):
        for step in range(2):
            steps.step(inner(models.normal(4, 5, name=f"input {step}")).square().mean())
        inner(models.normal(4, 5)).square().mean().backward()
    return models.arrays([rate.grad])


def _patched():
    network = models.filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)))
    pure = higher.monkeypatch(network)
    weights = [(2 * parameter).detach().requires_grad_() for parameter in network.parameters()]
    y = pure(models.normal(4, 5), params=weights)
    y.square().sum().backward()
    return models.arrays([y, *(weight.grad for weight in weights)])


CASES = {
    "SGD": _unrolled(lambda parameters: torch.optim.SGD(parameters, lr=0.1)),
    "SGD, momentum": _unrolled(lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)),
    "Adam": _unrolled(lambda parameters: torch.optim.Adam(parameters, lr=0.01)),
    "RMSprop": _unrolled(lambda parameters: torch.optim.RMSprop(parameters, lr=0.01)),
    "Adagrad": _unrolled(lambda parameters: torch.optim.Adagrad(parameters, lr=0.01)),
    "learned rate": _learned_rate,
    "monkeypatch": _patched,
}
