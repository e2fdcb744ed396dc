"""The functions of neural networks: those of the core, and the few that are made of them here."""

from __future__ import annotations

from .. import _core as _C

globals().update((name, getattr(_C.nn, name)) for name in dir(_C.nn) if not name.startswith("_"))


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """Samples of the Gumbel-Softmax distribution: `softmax((logits + g) / tau)` with standard Gumbel noise `g`.

    With `hard` the result is one-hot, with the gradient of the soft sample. `eps` has no effect.
    """
    noise = -_C.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = _C.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


def multi_head_attention_forward(*args, **kwargs):
    """The attention of `nn.MultiheadAttention` as a function: see `nn/attention.py`, where it is written."""
    from .attention import multi_head_attention_forward as forward

    return forward(*args, **kwargs)
