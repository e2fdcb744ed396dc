"""hypll: layers of hyperbolic space, and an optimizer."""

import hypll.nn as hyperbolic
import models
import torch
from hypll.manifolds.poincare_ball import Curvature, PoincareBall
from hypll.optim import RiemannianAdam
from hypll.tensors import TangentTensor

PACKAGE = "hypll"


def _ball():
    return PoincareBall(c=Curvature(0.5))


def _points(ball, *shape):
    return ball.expmap(TangentTensor(0.2 * models.normal(*shape), manifold=ball, man_dim=1))


def _layer(build, *shape):
    def run():
        ball = _ball()
        layer = build(ball)
        with torch.no_grad():
            for name, p in layer.named_parameters():
                tensor = p.tensor if hasattr(p, "tensor") and not isinstance(p, torch.nn.Parameter) else p
                tensor.copy_(0.2 * models.normal(*tensor.shape, name=name))
        found = layer(_points(ball, *shape)).tensor
        found.square().sum().backward()
        return models.arrays([found.detach(), *(p.grad for p in layer.parameters() if p.grad is not None)])

    return run


def _trained():
    ball = _ball()
    layer = hyperbolic.HLinear(4, 3, manifold=ball)
    with torch.no_grad():
        for name, p in layer.named_parameters():
            p.copy_(0.2 * models.normal(*p.shape, name=name))
    step = RiemannianAdam(layer.parameters(), lr=0.05)
    for _ in range(5):
        step.zero_grad()
        layer(_points(ball, 6, 4)).tensor.square().sum().backward()
        step.step()
    return models.arrays([p.detach() for p in layer.parameters()])


CASES = {
    "HLinear": _layer(lambda ball: hyperbolic.HLinear(4, 3, manifold=ball), 6, 4),
    "HConvolution2d": _layer(lambda ball: hyperbolic.HConvolution2d(3, 4, 3, manifold=ball), 2, 3, 6, 6),
    "HReLU": _layer(lambda ball: torch.nn.Sequential(hyperbolic.HLinear(4, 4, manifold=ball), hyperbolic.HReLU(manifold=ball)), 6, 4),
    "RiemannianAdam": _trained,
}
