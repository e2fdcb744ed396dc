"""Packages of one kind of attention each: local_attention, linear_attention_transformer; and mambapy, whose models have none."""

import linear_attention_transformer as linear
import local_attention as local
import models
from mambapy.mamba import Mamba, MambaConfig

PACKAGE = "local-attention"


def _tokens():
    return models.integers(50, 2, 32)


def _local():
    model = local.LocalTransformer(num_tokens=50, dim=32, depth=2, max_seq_len=32, causal=True, local_attn_window_size=8, heads=4, dim_head=8)
    return models.passes(model, _tokens())


def _windows(**options):
    def run():
        attention = local.LocalAttention(dim=8, window_size=8, autopad=True, **options)
        q, k, v = (models.normal(2, 4, 30, 8, name=name).requires_grad_() for name in "qkv")
        found = attention(q, k, v)
        found.square().sum().backward()
        return models.arrays([found.detach(), q.grad, k.grad, v.grad])

    return run


CASES = {
    "local": _local,
    "local windows": _windows(causal=True),
    "local windows, both sides": _windows(look_forward=1, shared_qk=True),
    "local windows, xPos": _windows(causal=True, use_xpos=True, use_rotary_pos_emb=True),
    "linear": lambda: models.passes(
        linear.LinearAttentionTransformerLM(num_tokens=50, dim=32, heads=4, depth=2, max_seq_len=32, causal=True, n_local_attn_heads=1, blindspot_size=4,
                                        local_attn_window_size=8, dim_head=8), _tokens()
    ),
    "linear, reversible": lambda: models.passes(
        linear.LinearAttentionTransformerLM(num_tokens=50, dim=32, heads=4, depth=2, max_seq_len=32, reversible=True, shift_tokens=True), _tokens(), train=True
    ),
    "Mamba": lambda: models.passes(Mamba(MambaConfig(d_model=16, n_layers=2, d_state=4)), models.normal(2, 12, 16)),
    "Mamba, sequential": lambda: models.passes(Mamba(MambaConfig(d_model=16, n_layers=2, d_state=4, pscan=False)), models.normal(2, 12, 16)),
}  # fmt: skip
