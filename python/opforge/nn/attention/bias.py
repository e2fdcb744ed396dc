"""Causal masks that are known by their sizes: `scaled_dot_product_attention` takes them for what they are, without the mask in memory."""

from __future__ import annotations

import enum

from ... import _core
from ..functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask begins, or ends, if there are more keys than queries."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(_core.Tensor):
    """A causal mask of `seq_len_q` queries and `seq_len_kv` keys, `(seq_len_q, seq_len_kv)`, true where a query attends to a key.

    It has no elements. `scaled_dot_product_attention` takes it as `attn_mask`; other functions get the mask itself.
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        shape = _core.empty(seq_len_q, seq_len_kv, dtype=_core.bool, device="meta")
        self = _core.Tensor._make_subclass(cls, shape)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self

    def _materialize(self, device=None):
        """The mask as a tensor of bools."""
        offset = self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0
        return _core.ones(self.seq_len_q, self.seq_len_kv, dtype=_core.bool, device=device).tril(offset)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention:
            return cls._attend(*args, **kwargs)
        if getattr(func, "__name__", "") != "__get__":  # properties tell of the mask without its elements
            args = [_mask_of(value) for value in args]
            kwargs = {name: _mask_of(value) for name, value in kwargs.items()}
        return _core._disabled_torch_function_impl(func, types, tuple(args), kwargs)

    @staticmethod
    def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        if isinstance(attn_mask, CausalBias) and attn_mask._is_plain(query, key):
            return scaled_dot_product_attention(query, key, value, None, dropout_p, True, **options)
        return scaled_dot_product_attention(query, key, value, _mask_of(attn_mask, query.device), dropout_p, False, **options)

    def _is_plain(self, query, key):
        """Whether this is what `is_causal=True` means for these."""
        fits = (self.seq_len_q, self.seq_len_kv) == (query.shape[-2], key.shape[-2])
        return fits and (self.variant is CausalVariant.UPPER_LEFT or self.seq_len_q == self.seq_len_kv)

    def __repr__(self):
        return repr(self._materialize())


def _mask_of(value, device=None):
    return value._materialize(device) if isinstance(value, CausalBias) else value


def causal_upper_left(*size):
    """The causal mask whose diagonal begins at the first query and the first key: query `i` attends to keys up to `i`.

    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_two(size))


def causal_lower_right(*size):
    """The causal mask whose diagonal ends at the last query and the last key: what queries at the end of a longer sequence of keys need.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_two(size))


def _two(size):
    if len(size) != 2:
        raise AssertionError("causal biases take two sizes: those of queries and of keys")
    return size
