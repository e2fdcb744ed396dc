"""einops: axes by name, as functions and layers."""

import einops
import models
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce

PACKAGE = "einops"


def _functions():
    x = models.normal(2, 6, 4, 3).requires_grad_()
    y = einops.rearrange(x, "b (h w) c d -> b h w (c d)", h=2)
    z = einops.reduce(y, "b h w c -> b c", "max") + einops.repeat(x[0, 0, 0, 0], " -> b c", b=2, c=12)
    e = einops.einsum(z, y, "b c, b h w c -> b h w")
    packed, shapes = einops.pack([x, x[:, 0]], "b * d")
    parts = einops.unpack(packed, shapes, "b * d")
    (e.sum() + parts[1].sum()).backward()
    return models.arrays([y, z, e, packed, x.grad])


def _layers():
    network = torch.nn.Sequential(
        Rearrange("b c (h p) (w q) -> b h w (c p q)", p=2, q=2), EinMix("b h w c -> b h w o", "c o", "o", c=12, o=5), Reduce("b h w c -> b c", "mean")
    )
    return models.passes(network, models.normal(2, 3, 8, 8))


CASES = {"functions": _functions, "layers": _layers}
