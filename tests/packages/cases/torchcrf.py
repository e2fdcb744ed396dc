"""pytorch-crf: conditional random fields."""

import models
import torch
import torchcrf

PACKAGE = "pytorch-crf"


def _field(batch_first=False):
    return models.filled(torchcrf.CRF(4, batch_first=batch_first))


def _likelihood(reduction, batch_first=False):
    def run():
        field = _field(batch_first)
        shape = (3, 5) if batch_first else (5, 3)
        scores = models.normal(*shape, 4).requires_grad_()
        mask = torch.ones(*shape, dtype=torch.uint8)
        mask[(0, -1) if batch_first else (-1, 0)] = 0
        found = field(scores, models.integers(4, *shape), mask=mask.bool(), reduction=reduction)
        found.sum().backward()
        return models.arrays([found, scores.grad]) | models.arrays({name: parameter.grad for name, parameter in field.named_parameters()}, "gradient")

    return run


CASES = {reduction: _likelihood(reduction) for reduction in ("none", "sum", "mean", "token_mean")} | {
    "batch first": _likelihood("sum", True),
    "decode": lambda: models.arrays([torch.tensor(path) for path in _field().decode(models.normal(5, 3, 4))]),
}
