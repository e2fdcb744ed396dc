"""How many operations products are, by the names of the functions."""

from __future__ import annotations

import math
from typing import NamedTuple

from .. import _core


class Call(NamedTuple):
    """The operations of a call, and of its backward."""

    count: int
    backward: int = 0


FORMULAS = {}


def _bound(names, args, kwargs):
    """The arguments of these names, by position or by name; None for those that are missing."""
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in enumerate(names)]


def _of_factors(count, *factors):
    """A product, whose backward is one for each factor that needs a gradient."""
    return Call(count, count * sum(factor.requires_grad for factor in factors))


def _product(left):
    """A product of a call's tensors `left` and `left + 1`, which is summed over the last dimension of the first."""

    def count(args, kwargs, out):
        given = [*args, *(value for name, value in kwargs.items() if name != "out")]
        first, second = [value for value in given if isinstance(value, _core.Tensor)][left : left + 2]
        return _of_factors(2 * out.numel() * first.shape[-1], first, second)

    return count


FORMULAS.update(dict.fromkeys("mm mv bmm dot vdot inner matmul linear".split(), _product(0)))
FORMULAS.update(dict.fromkeys("addmm addmv baddbmm".split(), _product(1)))


def _contraction(args, kwargs, out):
    """`tensordot`: each dimension is one of two of the three tensors, so that the root of the product of their sizes is that of all dimensions'."""
    left, right = _bound(("a", "b"), args, kwargs)
    return _of_factors(2 * math.isqrt(left.numel() * right.numel() * out.numel()), left, right)


FORMULAS["tensordot"] = _contraction


def _recurrent(args, kwargs, out):
    """`lstm` and its like: each weight matrix times each step of each sequence; backward makes two such products."""
    input, *others = args
    parameters = [arg for arg in others if isinstance(arg, (tuple, list))][-1]
    weights = sum(parameter.numel() for parameter in parameters if parameter.dim() == 2)
    count = 2 * input.numel() // max(input.shape[-1], 1) * weights
    return Call(count, 2 * count)


FORMULAS.update(dict.fromkeys("lstm gru rnn_tanh rnn_relu".split(), _recurrent))


def _of_batch(args, kwargs, out):
    """`addbmm`: the sum of the products of a batch."""
    _, left, right = _bound(("input", "batch1", "batch2"), args, kwargs)
    return _of_factors(2 * left.numel() * right.shape[-1], left, right)


FORMULAS["addbmm"] = _of_batch


def _convolution(args, kwargs, out):
    """Each output element is a sum over the filter; of a transposed one, each input element goes to as many."""
    input, weight = _bound(("input", "weight"), args, kwargs)
    return _of_factors(2 * out.numel() * math.prod(weight.shape[1:]), input, weight)


def _transposed(args, kwargs, out):
    input, weight = _bound(("input", "weight"), args, kwargs)
    return _of_factors(2 * input.numel() * math.prod(weight.shape[1:]), input, weight)


for _rank in (1, 2, 3):
    FORMULAS[f"conv{_rank}d"], FORMULAS[f"conv_transpose{_rank}d"] = _convolution, _transposed


def _attention(args, kwargs, out):
    """Scores and their product with the values; backward makes the scores again, and a product for each of their factors and for each gradient."""
    query, key, value = _bound(("query", "key", "value"), args, kwargs)
    rows = 2 * out.numel() // max(out.shape[-1], 1) * key.shape[-2]
    scores, values = rows * query.shape[-1], rows * value.shape[-1]
    needed = any(tensor.requires_grad for tensor in (query, key, value))
    return Call(scores + values, 3 * scores + 2 * values if needed else 0)


FORMULAS["scaled_dot_product_attention"] = _attention


def _einsum(args, kwargs, out):
    """Products of two operands at a time, from the left; one that sums over nothing is none."""
    equation, *operands = args
    operands = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    if not isinstance(equation, str):
        raise _core.UnsupportedError("FlopCounterMode: einsum: an equation as a text expected, to be counted")
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = [_letters(term, operand.dim()) for term, operand in zip(inputs.split(","), operands)]
    sizes = {}
    for term, operand in zip(terms, operands):
        for letter, size in zip(term, operand.shape):
            sizes[letter] = max(size, sizes.get(letter, 1))
    every = [letter for term in terms for letter in term]
    kept = _letters(output, out.dim()) if arrow else [letter for letter in every if every.count(letter) == 1 or not isinstance(letter, str)]
    total, left = 0, set(terms[0])
    for place, term in enumerate(terms[1:], 1):
        after = set(kept).union(*terms[place + 1 :])
        if (left & set(term)) - after:
            total += 2 * math.prod(sizes[letter] for letter in left | set(term))
        left = (left | set(term)) & after
    return _of_factors(total, *operands)


def _letters(term, dims):
    """The dimensions' letters; those of `...` are numbered from the last."""
    before, dots, after = term.partition("...")
    count = dims - len(before) - len(after) if dots else 0
    return [*before, *range(-count, 0), *after]


FORMULAS["einsum"] = _einsum
