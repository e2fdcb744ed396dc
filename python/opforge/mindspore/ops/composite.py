"""Gradients as functions: `GradOperation`, `grad` and `value_and_grad`."""

from __future__ import annotations

from ..gradient import differentiate
from ..parameter import Parameter
from ..tensor import Tensor


class GradOperation:
    """Turns a function or cell into the function that gives its gradient.

    The gradient is by the first input; with `get_all` a tuple, by all inputs; with `get_by_list`, by the parameters that are given along
    with the function (a cell's trainable ones at first); with both, a pair of these. With `sens_param`, the last argument, or the one
    named `sens`, is the gradient of the result; without, that is all ones.

    >>> x, sens = Tensor([1.0, 2.0]), Tensor([10.0, 100.0])
    >>> print(GradOperation(sens_param=True)(lambda x: x * x)(x, sens))
    [ 20. 400.]
    """

    def __init__(self, get_all=False, get_by_list=False, sens_param=False):
        for name, value in {"get_all": get_all, "get_by_list": get_by_list, "sens_param": sens_param}.items():
            if not isinstance(value, bool):
                raise TypeError(f"GradOperation: {name} must be a bool, not {type(value).__name__}")
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn, weights=None):
        if weights is not None and not self.get_by_list:
            raise ValueError("GradOperation: parameters are given, but get_by_list is False")

        def gradient(*args, **kwargs):
            args, sens = _take_sens(args, kwargs) if self.sens_param else (args, None)
            listed = _listed(fn, weights) if self.get_by_list else ()
            positions = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
            if not self.get_all:
                positions = [] if self.get_by_list else positions[:1]
            _, by_input, by_weight = differentiate(fn, args, kwargs, positions, listed, sens)
            by_weight = by_weight[0] if isinstance(weights, Parameter) else by_weight
            if self.get_by_list:
                return (by_input, by_weight) if self.get_all else by_weight
            return by_input if self.get_all or not by_input else by_input[0]

        return gradient


def grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False, sens_param=False):
    """The function that gives the gradient of `fn` by the inputs at `grad_position` (a number, several, or None) and by `weights`.

    With both, the gradient is a pair. With `has_aux`, only the first result of `fn` is differentiated, and the others are returned too.
    With `return_ids`, each gradient comes with its position or its parameter's name. `sens_param` is as in `GradOperation`.

    >>> print(grad(lambda x: x ** 3)(Tensor([1.0, 2.0])))
    [ 3. 12.]
    """
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    def gradient(*args, **kwargs):
        value, grads = both(*args, **kwargs)
        return (grads, value[1:]) if has_aux else grads

    return gradient


def value_and_grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False, sens_param=False):
    """The function that gives the result of `fn` and the gradient, which is as in `grad`.

    >>> value, gradient = value_and_grad(lambda x: x ** 3)(Tensor([1.0, 2.0]))
    >>> print(value, gradient)
    [1. 8.] [ 3. 12.]
    """
    if grad_position is None and weights is None:
        raise ValueError("grad_position and weights cannot both be None")
    positions = (grad_position,) if isinstance(grad_position, int) else tuple(grad_position or ())
    listed = () if weights is None else _listed(fn, weights)

    def function(*args, **kwargs):
        args, sens = _take_sens(args, kwargs) if sens_param else (args, None)
        for position in positions:
            _check_position(args, position)
        value, by_input, by_weight = differentiate(fn, args, kwargs, positions, listed, sens, has_aux)
        if return_ids:
            by_input = tuple(zip(positions, by_input))
            by_weight = tuple((weight.name, gradient) for weight, gradient in zip(listed, by_weight))
        by_input = by_input[0] if len(by_input) == 1 else by_input
        by_weight = by_weight[0] if isinstance(weights, Parameter) else by_weight
        if weights is None:
            return value, by_input
        return value, by_weight if grad_position is None else (by_input, by_weight)

    return function


def _listed(fn, weights):
    """The parameters to differentiate by."""
    if weights is None:
        return tuple(fn.trainable_params())
    return (weights,) if isinstance(weights, Parameter) else tuple(weights)


def _take_sens(args, kwargs):
    """The arguments without the gradient of the result, and that."""
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise TypeError("the gradient of the result is missing: the last argument, or the one named sens")
    return args[:-1], args[-1]


def _check_position(args, position):
    if not 0 <= position < len(args):
        raise ValueError(f"grad_position {position} (accepted: 0 to {len(args) - 1}, for {len(args)} arguments)")
    if not isinstance(args[position], Tensor):
        raise TypeError(f"grad_position {position}: argument is a {type(args[position]).__name__} (accepted: a Tensor)")
