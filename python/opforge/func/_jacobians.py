"""Jacobians and Hessians of functions of trees of tensors."""

from __future__ import annotations

from functools import wraps

from .. import _core
from ..autograd.functional import _gradients, _rows, _unit
from ..autograd.grad_mode import inference_mode
from ._derivatives import check_differentiable, check_outputs, evaluated_at, parted
from ._trees import like


def _jacobian(name, func, argnums, has_aux, check, blocks):
    """A function that gives the Jacobian, from what `blocks(evaluated, outputs)` gives: for each output a block for each variable. `check(name, output)`
    gives the outputs."""

    @wraps(func)
    def derived(*args, **kwargs):
        evaluated, inputs = evaluated_at(func, args, kwargs, argnums)
        output, aux = parted(name, evaluated.result, has_aux)
        outputs = check(name, output)
        _check_real(name, "input", evaluated.variables)
        _check_real(name, "output", outputs)
        with inference_mode(False):
            found = blocks(evaluated, outputs)
        jacobian = evaluated.released(like(output, [like(inputs, row) for row in found]))
        return (jacobian, evaluated.released(aux)) if has_aux else jacobian

    return derived


def _check_real(name, what, tensors):
    for i, tensor in enumerate(tensors):
        if tensor.is_complex():
            raise RuntimeError(f"{name}: {what} {i} of f is of dtype {tensor.dtype}, real tensors expected; view_as_real gives one")


def _columns(evaluated, outputs):
    """The Jacobians of the outputs by each variable, a derivative for each element of the variables."""
    cotangents, back = evaluated.transposed(outputs)
    blocks = [[] for _ in outputs]
    for product, source in zip(back, evaluated.variables):
        parts = [_gradients([product], cotangents, [_unit(source, i)], evaluated.is_recorded, False) for i in range(source.numel())]
        for k, (block, output) in enumerate(zip(blocks, outputs)):
            shape = (*output.shape, *source.shape)
            columns = [part[k] for part in parts]
            block.append(_core.stack(columns, -1).reshape(shape) if columns else _core.zeros(shape, dtype=output.dtype, device=output.device))
    return blocks


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of `func` by the argument (or the tuple of arguments) of these numbers: for an output of shape `(*out)` and an
    argument of shape `(*in)` a tensor `(*out, *in)`, in the tree of the output with that of the argument inside. Both are real. It takes a backward for each
    element of the output. `chunk_size`, by which PyTorch saves memory, has no effect.

    >>> jacrev(lambda x: x**2)(opforge.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def rows(evaluated, outputs):
        return [_rows(output, evaluated.variables, evaluated.is_recorded, False) for output in outputs]

    return _jacobian("jacrev", func, argnums, has_aux, check_differentiable, rows)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """As `jacrev`, with a derivative for each element of the arguments: for functions with more outputs than inputs. Integers and truth values among the
    outputs have zeros of their dtype. `func` is evaluated once, so
    `randomness` makes no difference; what it computes under `no_grad` is constant, as for `jvp`."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    return _jacobian("jacfwd", func, argnums, has_aux, check_outputs, _columns)


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`: of shape `(*out, *in, *in)`.

    >>> hessian(lambda x: (x**3).sum())(opforge.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)
