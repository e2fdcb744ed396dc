"""neuralop: neural operators, spectral convolutions of complex weights, losses."""

import models
import neuralop.losses as losses
import neuralop.models as operators
from neuralop.layers.spectral_convolution import SpectralConv

PACKAGE = "neuraloperator"


def _loss(build):
    def run():
        x, y = models.normal(2, 1, 16, 16).requires_grad_(), models.normal(2, 1, 16, 16, name="other")
        found = build()(x, y)
        found.sum().backward()
        return models.arrays([found.detach(), x.grad])

    return run


CASES = {
    "FNO": lambda: _spectral(operators.FNO(n_modes=(6, 6), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2), 2, 2, 16, 16),
    "FNO, one dimension": lambda: _spectral(operators.FNO(n_modes=(6,), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2), 2, 2, 24),
    "SpectralConv": lambda: _spectral(SpectralConv(3, 4, (6, 6)), 2, 3, 12, 12),
    "L2": _loss(lambda: losses.LpLoss(d=2, p=2)),
    "H1": _loss(lambda: losses.H1Loss(d=2)),
}  # fmt: skip


def _spectral(model, *shape):
    """The outputs of a model, some of whose parameters are complex, and all gradients."""
    import torch

    generator = {}
    with torch.no_grad():
        for name, p in model.named_parameters():
            generator[name] = models.normal(*p.shape, *([2] if p.is_complex() else []), name=name) / max(p.shape[0], 1)
            p.copy_(torch.view_as_complex(generator[name]) if p.is_complex() else generator[name])
    x = models.normal(*shape).requires_grad_()
    found = model(x)
    (found * models.uniform(*found.shape, name="weights of the loss")).mean().backward()
    gradients = {name: torch.view_as_real(p.grad) if p.is_complex() else p.grad for name, p in model.named_parameters() if p.grad is not None}
    return models.arrays(found) | models.arrays(gradients | {"x": x.grad}, "gradient")
