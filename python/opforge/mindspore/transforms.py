"""Functions of functions: `vjp`, `jvp`, `jacrev`, `jacfwd`, `vmap`."""

from __future__ import annotations

from .. import func
from .gradient import differentiate
from .structure import mapped
from .tensor import Base, Tensor, adopt


def vjp(fn, *inputs, weights=None, has_aux=False):
    """The result of `fn`, and the function from a gradient of it to those by the inputs, a tuple (with `weights`, a pair of that and those by them).

    >>> value, pull = vjp(lambda x: x * x, Tensor([1.0, 2.0]))
    >>> print(value, pull(Tensor([1.0, 10.0]))[0])
    [1. 4.] [ 2. 40.]
    """
    listed = () if weights is None else tuple(weights)
    positions = [i for i, value in enumerate(inputs) if isinstance(value, Tensor)]

    def pull(*sens):
        given = sens[0] if len(sens) == 1 else sens
        _, by_input, by_weight = differentiate(fn, inputs, positions, listed, given, has_aux)
        return by_input if weights is None else (by_input, by_weight)

    result = fn(*inputs)
    return (result[0], pull, result[1:]) if has_aux else (result, pull)


def jvp(fn, inputs, v, has_aux=False):
    """The result of `fn` at the inputs (a tensor or a tuple of them), and its derivative in the direction `v`, which is as the inputs are.

    >>> value, along = jvp(lambda x: x * x, Tensor([1.0, 2.0]), Tensor([1.0, 10.0]))
    >>> print(value, along)
    [1. 4.] [ 2. 40.]
    """
    inputs, v = ((value,) if isinstance(value, Tensor) else tuple(value) for value in (inputs, v))
    return _adopted(func.jvp(_adopting(fn), inputs, v, has_aux=has_aux))


def jacrev(fn, grad_position=0, has_aux=False):
    """The function that gives the derivatives of all elements of the result of `fn` by all elements of the inputs at `grad_position`, going backward."""
    inner = func.jacrev(_adopting(fn), grad_position, has_aux=has_aux)
    return lambda *args: _adopted(inner(*args))


def jacfwd(fn, grad_position=0, has_aux=False):
    """As `jacrev`, going forward."""
    inner = func.jacfwd(_adopting(fn), grad_position, has_aux=has_aux)
    return lambda *args: _adopted(inner(*args))


def vmap(fn, in_axes=0, out_axes=0):
    """`fn` of every slice of the inputs along `in_axes` (a number, or one or None for each input), the results along `out_axes`.

    >>> print(vmap(lambda x: x.sum())(Tensor([[1.0, 2.0], [3.0, 4.0]])))
    [3. 7.]
    """
    inner = func.vmap(_adopting(fn), in_axes, out_axes)
    return lambda *args: _adopted(inner(*args))


def _adopting(fn):
    """`fn` of MindSpore's tensors as a function of opforge's; neither sees the other's objects."""
    return lambda *args: mapped(_same, fn(*mapped(lambda tensor: adopt(_same(tensor)), args)))


def _same(tensor):
    return Base.view_as(tensor, tensor)


def _adopted(value):
    return mapped(adopt, value)
