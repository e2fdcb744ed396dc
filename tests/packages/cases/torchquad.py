"""torchquad: integrals by fixed and by random points, and their gradients by parameters."""

import models
import torch
import torchquad

PACKAGE = "torchquad"


def _integral(rule, n, dims=2, **options):
    def run():
        torchquad.set_log_level("ERROR")
        k = torch.tensor([1.5, 0.5]).requires_grad_()
        function = lambda x: torch.sin(k[0] * x).sum(1) + torch.exp(-k[1] * x[:, 0] ** 2)  # noqa: E731
        found = rule().integrate(function, dim=dims, N=n, integration_domain=[[0, 1]] * dims, backend="torch", **options)
        found.backward()
        return models.arrays([found.detach(), k.grad])

    return run


CASES = {
    "Trapezoid": _integral(torchquad.Trapezoid, 121),
    "Simpson": _integral(torchquad.Simpson, 121),
    "Boole": _integral(torchquad.Boole, 169),
    "GaussLegendre": _integral(torchquad.GaussLegendre, 121),
    "one dimension": _integral(torchquad.Simpson, 101, 1),
    "three dimensions": _integral(torchquad.GaussLegendre, 216, 3),
}
