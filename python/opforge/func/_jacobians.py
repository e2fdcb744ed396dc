"""Jacobians and Hessians of functions of trees of tensors."""

from __future__ import annotations

from functools import wraps

from ..autograd.functional import _columns, _rows
from ..autograd.grad_mode import enable_grad
from ._derivatives import check_outputs, evaluated_at, parted
from ._trees import like


def _jacobian(func, argnums, has_aux, name, blocks):
    """A function that gives the Jacobian, from what `blocks(outputs, variables, is_recorded)` gives: for each output a block for each variable."""

    @wraps(func)
    def derived(*args, **kwargs):
        evaluated, inputs = evaluated_at(func, args, kwargs, argnums)
        output, aux = parted(name, evaluated.result, has_aux)
        outputs = check_outputs(name, output)
        with enable_grad():
            found = blocks(outputs, evaluated.variables, evaluated.is_recorded)
        jacobian = like(output, [like(inputs, row) for row in found])
        return (jacobian, evaluated.released(aux)) if has_aux else jacobian

    return derived


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of `func` by the argument (or the tuple of arguments) of these numbers: for an output of shape `(*out)` and an
    argument of shape `(*in)` a tensor `(*out, *in)`, in the tree of the output with that of the argument inside. It takes a backward for each element of
    the output. `chunk_size`, by which PyTorch saves memory, has no effect.

    >>> jacrev(lambda x: x**2)(opforge.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def blocks(outputs, variables, is_recorded):
        return [_rows(output, variables, is_recorded, False) for output in outputs]

    return _jacobian(func, argnums, has_aux, "vjp(f, *primals)", blocks)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """As `jacrev`, with a derivative for each element of the arguments: for functions with more outputs than inputs. `func` is evaluated once, so
    `randomness` makes no difference; what it computes under `no_grad` is constant, as for `jvp`."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    return _jacobian(func, argnums, has_aux, "jvp(f, primals, tangents)", _columns)


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`: of shape `(*out, *in, *in)`.

    >>> hessian(lambda x: (x**3).sum())(opforge.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)
