"""entmax: sparse softmax, by sorting and by bisection."""

import entmax
import models
import torch

PACKAGE = "entmax"


def _mapped(function, **options):
    def run():
        x = (2 * models.normal(4, 5, 7)).requires_grad_()
        y = function(x, **options)
        (y * models.uniform(*y.shape)).sum().backward()
        return models.arrays([y, x.grad])

    return run


def _alpha():
    x, alpha = models.normal(4, 7).requires_grad_(), (1.2 + models.uniform(4, 1)).requires_grad_()
    y = entmax.entmax_bisect(x, alpha, dim=1)
    (y * models.uniform(*y.shape)).sum().backward()
    return models.arrays([y, x.grad, alpha.grad])


def _loss(build):
    def run():
        x = models.normal(6, 5).requires_grad_()
        loss = build(x, models.integers(5, 6))
        loss.sum().backward()
        return models.arrays([loss, x.grad])

    return run


CASES = {
    "sparsemax": _mapped(entmax.sparsemax, dim=1),
    "sparsemax, top k": _mapped(entmax.sparsemax, dim=-1, k=3),
    "entmax15": _mapped(entmax.entmax15, dim=-1),
    "entmax15, top k": _mapped(entmax.entmax15, dim=1, k=4),
    "sparsemax_bisect": _mapped(entmax.sparsemax_bisect, dim=-1),
    "entmax_bisect": _mapped(entmax.entmax_bisect, alpha=1.3, dim=0),
    "entmax_bisect, gradient of alpha": _alpha,
    "budget_bisect": _mapped(entmax.budget_bisect, budget=2, dim=-1),
    "normmax_bisect": _mapped(entmax.normmax_bisect, alpha=2, dim=-1),
    "sparsemax_loss": _loss(entmax.sparsemax_loss),
    "entmax15_loss": _loss(entmax.entmax15_loss),
    "entmax_bisect_loss": _loss(entmax.entmax_bisect_loss),
    "layers": lambda: models.passes(
        torch.nn.Sequential(torch.nn.Linear(5, 6), entmax.Entmax15(dim=1), torch.nn.Linear(6, 4), entmax.Sparsemax(dim=-1)), models.normal(3, 5)
    ),
}
