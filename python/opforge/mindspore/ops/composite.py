"""Gradients as functions: `GradOperation`, `grad` and `value_and_grad`."""

from __future__ import annotations

from ..gradient import differentiate, is_differentiable
from ..parameter import Parameter
from ..tensor import Tensor


class GradOperation:
    """Turns a function or cell into the function that gives its gradient.

    The gradient is by the first input, () if that is no tensor; with `get_all` a tuple, by all inputs that are tensors, zeros for integers
    and Bool; with `get_by_list`, by the parameters that are given along with the function (a cell's trainable ones at first), zeros for
    those without `requires_grad`; with both, a pair of these. With `sens_param`, the last argument, or the one named `sens`, is the
    gradient of the result; without, that is all ones.

    Inputs that are given by name come after the others.

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
        _check_callable("GradOperation", fn)

        def gradient(*args, **kwargs):
            args, sens = _take_sens(args, kwargs) if self.sens_param else (args, None)
            function, args = _by_position(fn, args, kwargs)
            listed = _listed(fn, weights) if self.get_by_list else ()
            candidates = range(len(args)) if self.get_all else range(min(len(args), 0 if self.get_by_list else 1))
            positions = _of_tensors(args, candidates)
            _, by_input, by_weight = differentiate(function, args, positions, listed, sens)
            by_weight = by_weight[0] if isinstance(weights, Parameter) else by_weight
            if self.get_by_list:
                return (by_input, by_weight) if self.get_all else by_weight
            return by_input if self.get_all or not by_input else by_input[0]

        return gradient


def grad(fn, grad_position=0, weights=None, has_aux=False, return_ids=False, sens_param=False):
    """The function that gives the gradient of `fn` by the inputs at `grad_position` (a number, several, or None) and by `weights`.

    Inputs that are no tensors are left out, and parameters without `requires_grad` have zeros. Raises `TypeError` for a position of a tensor of integers or Bool.
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
    _check_callable("grad", fn)
    if grad_position is None and weights is None:
        raise ValueError("grad_position and weights cannot both be None")
    declared = _positions(grad_position)
    listed = () if weights is None else _listed(fn, weights)

    def function(*args, **kwargs):
        args, sens = _take_sens(args, kwargs) if sens_param else (args, None)
        called, args = _by_position(fn, args, kwargs)
        for position in declared:
            if position >= len(args):
                raise ValueError(f"grad_position {position} (accepted: 0 to {len(args) - 1}, for {len(args)} arguments)")
        positions = _of_tensors(args, declared)
        for position in positions:
            if not is_differentiable(args[position]):
                raise TypeError(f"grad_position {position}: a tensor of {args[position].dtype} (accepted: of floating point or complex; convert it first)")
        value, by_input, by_weight = differentiate(called, args, positions, listed, sens, has_aux)
        if return_ids:
            by_input = tuple(zip(positions, by_input))
            by_weight = tuple((weight.name, gradient) for weight, gradient in zip(listed, by_weight))
        by_input = by_input[0] if len(by_input) == 1 else by_input
        by_weight = by_weight[0] if isinstance(weights, Parameter) else by_weight
        if weights is None:
            return value, by_input
        return value, by_weight if grad_position is None else (by_input, by_weight)

    return function


def get_grad(gradients, identifier):
    """Of what `grad` gave with `return_ids`, the gradient by the input at a position, or by the parameter with that name, or by that parameter itself.

    >>> gradients = grad(lambda x: x ** 3, return_ids=True)(Tensor([1.0, 2.0]))
    >>> print(get_grad(gradients, 0))
    [ 3. 12.]
    """
    name = identifier.name if isinstance(identifier, Parameter) else identifier
    if not isinstance(name, (int, str)):
        raise TypeError(f"get_grad: identifier is a {type(name).__name__} (accepted: a position, a name, a Parameter)")
    for key, gradient in _pairs(gradients):
        if type(key) is type(name) and key == name:
            return gradient
    raise ValueError(f"get_grad: there is no gradient for {name!r} (accepted: {', '.join(repr(key) for key, _ in _pairs(gradients))})")


def _pairs(gradients):
    """The pairs of an id and a gradient in nested tuples."""
    if isinstance(gradients, tuple):
        if len(gradients) == 2 and isinstance(gradients[0], (int, str)):
            yield gradients
        else:
            for item in gradients:
                yield from _pairs(item)


def _check_callable(name, fn):
    if not callable(fn):
        raise TypeError(f"{name}: fn is a {type(fn).__name__} (accepted: a function or a Cell)")


def _positions(grad_position) -> tuple:
    positions = (grad_position,) if isinstance(grad_position, int) else grad_position or ()
    if not isinstance(positions, (tuple, list)) or not all(isinstance(position, int) for position in positions):
        raise TypeError(f"grad_position is {grad_position!r} (accepted: a number, a tuple of numbers, or None)")
    if any(position < 0 for position in positions) or len(set(positions)) < len(positions):
        raise ValueError(f"grad_position is {grad_position!r} (accepted: numbers from 0 on, each once)")
    return tuple(positions)


def _listed(fn, weights):
    """The parameters to differentiate by."""
    if weights is None:
        return tuple(fn.trainable_params()) if hasattr(fn, "trainable_params") else ()
    listed = (weights,) if isinstance(weights, Tensor) else weights
    listed = listed if isinstance(listed, str) else tuple(listed)
    for item in listed:
        if not isinstance(item, Tensor):
            raise TypeError(f"weights: {item!r} (accepted: Parameters, or a tuple or list of them)")
    return listed


def _take_sens(args, kwargs):
    """The arguments without the gradient of the result, and that."""
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise TypeError("the gradient of the result is missing: the last argument, or the one named sens")
    return args[:-1], args[-1]


def _by_position(fn, args, kwargs):
    """The function of arguments by position, those that were given by name after the others, and these."""
    if not kwargs:
        return fn, args
    count, names = len(args), list(kwargs)
    return lambda *given: fn(*given[:count], **dict(zip(names, given[count:]))), (*args, *kwargs.values())


def _of_tensors(args, positions) -> list:
    """Those of the positions where a tensor is."""
    return [position for position in positions if isinstance(args[position], Tensor)]
