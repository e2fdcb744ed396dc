"""performer-pytorch: attention by random features, which are given."""

import models
import torch
from performer_pytorch import CrossAttention, FastAttention, Performer, PerformerLM, SelfAttention

PACKAGE = "performer-pytorch"


def _fixed(module):
    """The module with projections that depend on their names alone."""
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if name.endswith("projection_matrix"):
                buffer.copy_(models.normal(*buffer.shape, name=name))
    return module


def _attended(**options):
    def run():
        attention = _fixed(FastAttention(dim_heads=8, nb_features=16, **options))
        inputs = [models.normal(2, 2, 10, 8, name=name).requires_grad_() for name in ("queries", "keys", "values")]
        found = attention(*inputs)
        (found * models.uniform(*found.shape)).sum().backward()
        return models.arrays([found, *(x.grad for x in inputs)])

    return run


SMALL = {"dim": 16, "dim_head": 8, "heads": 2, "nb_features": 16}
CASES = {
    "FastAttention": _attended(),
    "FastAttention, causal": _attended(causal=True, no_projection=False),
    "FastAttention, generalized": _attended(generalized_attention=True),
    "FastAttention, no projection": _attended(no_projection=True),
    "SelfAttention": lambda: models.passes(_fixed(SelfAttention(**SMALL)), models.normal(2, 10, 16)),
    "SelfAttention, local heads": lambda: models.passes(_fixed(SelfAttention(**SMALL, local_heads=1, local_window_size=5)), models.normal(2, 10, 16)),
    "CrossAttention": lambda: models.passes(_fixed(CrossAttention(**SMALL)), models.normal(2, 10, 16), context=models.normal(2, 6, 16)),
    "Performer": lambda: models.passes(_fixed(Performer(depth=2, **SMALL)), models.normal(2, 10, 16)),
    "Performer, reversible": lambda: models.passes(_fixed(Performer(depth=2, reversible=True, **SMALL)), models.normal(2, 10, 16), train=True),
    "PerformerLM": lambda: models.passes(
        _fixed(PerformerLM(num_tokens=20, max_seq_len=16, depth=1, causal=True, **SMALL)), models.integers(20, 2, 10)
    ),
}
