"""Layers of products and of shapes."""

from __future__ import annotations

from ... import ops
from ...common.initializer import HeUniform, initializer, scaled_uniform
from ...dtype import float32
from ...parameter import Parameter
from ..cell import Cell
from ..configured import configured
from .activation import get_activation

_CELLS = {
    "Flatten": lambda x, *, start_dim=1, end_dim=-1: ops.flatten(x, start_dim=start_dim, end_dim=end_dim),
    "Roll": lambda x, *, shift=0, axis=0: ops.roll(x, shift, axis),
    "Unflatten": lambda x, *, axis=0, unflattened_size=(): x.reshape((*x.shape[:axis], *unflattened_size, *x.shape[axis + 1 :])),
}
globals().update(configured(_CELLS, __name__))
__all__ = [*_CELLS, "Dense", "Dropout", "Embedding", "Identity", "OneHot"]


class Dense(Cell):
    """`x` times the transposed weight, `(out_channels, in_channels)`, plus a bias, then an activation: a name, a cell or None.

    Both begin as numbers up to `1 / sqrt(in_channels)`, unless `weight_init` and `bias_init` say otherwise.

    >>> print(Dense(3, 2, weight_init="ones", bias_init="zeros")(Tensor([[1.0, 2.0, 3.0]])))
    [[6. 6.]]
    """

    def __init__(self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype=float32):
        super().__init__()
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        weight_init = HeUniform(5**0.5) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, [out_channels, in_channels], dtype), name="weight")
        if has_bias:
            bias_init = scaled_uniform(in_channels) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, [out_channels], dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, x):
        found = ops.dense(x, self.weight, self.bias if self.has_bias else None)
        return found if self.activation is None else self.activation(found)

    def extend_repr(self):
        return f"input_channels={self.in_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


class Dropout(Cell):
    """While it is trained (`set_train`), elements are 0 with the probability `p`, and the others divided by what is left of it; `keep_prob` is that instead."""

    def __init__(self, keep_prob=0.5, p=None, dtype=float32):
        super().__init__()
        self.p = 1 - keep_prob if p is None else p
        if not 0 <= self.p < 1:
            raise ValueError(f"Dropout: p is {self.p} (accepted: from 0 to less than 1)")

    def construct(self, x):
        return ops.dropout(x, self.p, self.training) if self.training and self.p else x

    def extend_repr(self):
        return f"p={self.p}"


class Embedding(Cell):
    """Rows of a table, `(vocab_size, embedding_size)`, by their numbers; that of `padding_idx` begins as zeros."""

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=float32, padding_idx=None):
        super().__init__()
        self.vocab_size, self.embedding_size, self.padding_idx = vocab_size, embedding_size, padding_idx
        table = initializer(embedding_table, [vocab_size, embedding_size], dtype)
        if padding_idx is not None:
            table[padding_idx] = 0
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids):
        return ops.gather(self.embedding_table, ids, 0)

    def extend_repr(self):
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, padding_idx={self.padding_idx}"


class Identity(Cell):
    """What it is called with."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def construct(self, x):
        return x


class OneHot(Cell):
    """Rows with `on_value` at a number, along `axis`."""

    def __init__(self, axis=-1, depth=1, on_value=1.0, off_value=0.0, dtype=float32):
        super().__init__()
        self.axis, self.depth, self.values, self.dtype = axis, depth, (on_value, off_value), dtype

    def construct(self, indices):
        return ops.one_hot(indices, self.depth, *self.values, self.axis).astype(self.dtype)
