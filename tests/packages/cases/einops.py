"""einops: rearrangements, reductions and layers."""

import einops
import models
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

PACKAGE = "einops"


def _functions():
    x = models.normal(2, 3, 4, 6).requires_grad_()
    results = [
        einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3),
        einops.reduce(x, "b c (h 2) (w 2) -> b c h w", "max"),
        einops.reduce(x, "b c h w -> b 1 h", "mean"),
        einops.reduce(x, "... w -> ...", "prod"),
        einops.repeat(x, "b c h w -> b (r c) h w", r=2),
        einops.einsum(x, x, "b c h w, b d h w -> b c d"),
        einops.pack([x, x.sum(-1)], "b c *")[0],
    ]
    sum(result.square().mean() for result in results).backward()
    return models.arrays([*results, x.grad])


def _layers():
    net = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b h w (p q c)", p=4, q=4),
        EinMix("b h w c -> b h w d", weight_shape="c d", bias_shape="d", c=48, d=16),
        nn.GELU(),
        Reduce("b h w d -> b d", "mean"),
        nn.Linear(16, 5),
    )
    return models.passes(net, models.normal(models.BATCH, 3, 16, 16))


def _packed():
    tokens, shapes = einops.pack([models.normal(2, 3), models.normal(2, 4, 3), models.normal(2, 2, 2, 3)], "b * d")
    return models.arrays([tokens, *einops.unpack(tokens, shapes, "b * d"), torch.tensor([len(shapes)])])


CASES = {"functions": _functions, "layers": _layers, "pack and unpack": _packed}
