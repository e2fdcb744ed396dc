"""Functions whose forward and backward are written in Python."""

from __future__ import annotations

from functools import wraps

from .. import _core
from ._saved import save
from .grad_mode import no_grad


class FunctionCtx:
    """What a function's forward leaves for its backward."""

    def __init__(self):
        self._saved = ()
        self._to_save = ()
        self._dirty = ()
        self._constant = ()
        self._materialize = True
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps inputs, outputs or other tensors (or None); changes to them in place until backward are found out."""
        self._to_save = tensors

    @property
    def saved_tensors(self):
        """What `save_for_backward` was given."""
        return tuple(None if saved is None else saved.unpack() for saved in self._saved)

    def mark_dirty(self, *tensors):
        """Names inputs that forward changes in place; it must return them."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Names outputs through which no gradient flows."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool):
        """Whether missing gradients of outputs are given to backward as zeros (as they are at first) or as None."""
        self._materialize = value

    def _save(self, outputs):
        """Turns what is to be saved into saved tensors, bound to the recorded outputs."""
        bound = []
        for tensor in self._to_save:
            position = next((i for i, output in enumerate(outputs) if output is tensor), None)
            saved = None if tensor is None else save(tensor, position is not None)
            if position is not None:
                bound.append((saved, position))
            self._saved += (saved,)
        self._to_save = ()
        return bound


class Function:
    """A differentiable function: subclasses define `forward(ctx, *args)` and `backward(ctx, *grads)` as static methods, and are called by
    `apply`. With `setup_context(ctx, inputs, output)` defined, `forward` gets no `ctx`."""

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the outputs, unrecorded."""
        raise NotImplementedError("a Function needs a static method forward")

    @staticmethod
    def backward(ctx, *grads):
        """Gives a gradient, or None, for each argument of forward, from the outputs' gradients."""
        raise NotImplementedError("a Function needs a static method backward to be differentiated")

    setup_context = None

    @classmethod
    def apply(cls, *args):
        """Calls the function; its result carries gradients."""
        ctx = FunctionCtx()
        places = [i for i, arg in enumerate(args) if isinstance(arg, _core.Tensor)]
        tensors = [args[i] for i in places]
        recording = _core.is_grad_enabled()
        ctx.needs_input_grad = tuple(recording and isinstance(arg, _core.Tensor) and arg.requires_grad for arg in args)
        with no_grad():
            if cls.setup_context is None:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        several = isinstance(result, (tuple, list))
        outputs = list(result) if several else [result]
        recorded = _record(cls, ctx, args, places, tensors, outputs)
        return tuple(recorded) if several else recorded[0]


def _is_among(tensor, tensors) -> bool:
    return any(tensor is other for other in tensors)


def _record(cls, ctx, args, places, tensors, outputs):
    """The outputs, recorded where they are tensors."""
    which = [i for i, output in enumerate(outputs) if isinstance(output, _core.Tensor)]
    if not which:
        return outputs
    results = [outputs[i] for i in which]
    bound = ctx._save(results)
    likes = [(tuple(t.shape), t.dtype, t.device) for t in results]
    # The node is to keep neither arguments nor outputs.
    arguments, count = len(args), len(outputs)

    def backward(grads, needs):
        given = [None] * count
        for i, grad, (shape, dtype, device) in zip(which, grads, likes):
            given[i] = _core.zeros(shape, dtype=dtype, device=device) if grad is None and ctx._materialize else grad
        found = cls.backward(ctx, *given)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != arguments:
            extra = found[arguments:]
            if len(found) < arguments or any(grad is not None for grad in extra):
                raise RuntimeError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients "
                    f"(expected {arguments}, got {len(found)})"
                )
        return [found[i] for i in places]

    differentiable = [not _is_among(t, ctx._constant) for t in results]
    changed = [_is_among(t, ctx._dirty) for t in results]
    ctx._constant = ctx._dirty = ()
    recorded = _core.record_function(f"{cls.__name__}Backward", tensors, results, differentiable, backward, changed)
    for saved, position in bound:
        saved.bind(recorded[position])
    outputs = list(outputs)
    for i, tensor in zip(which, recorded):
        outputs[i] = tensor
    return outputs


def once_differentiable(backward):
    """Marks a backward that is not made of recorded operators: differentiating through it is an error."""

    @wraps(backward)
    def wrapper(ctx, *grads):
        recording = _core.is_grad_enabled()
        with no_grad():
            found = backward(ctx, *grads)
        if not recording or not any(isinstance(g, _core.Tensor) and g.requires_grad for g in grads):
            return found
        several = isinstance(found, (tuple, list))
        return tuple(map(_refuse, found)) if several else _refuse(found)

    return wrapper


def _refuse(grad):
    """A gradient that cannot be differentiated."""
    if not isinstance(grad, _core.Tensor):
        return grad

    def backward(grads, needs):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    source = _core.zeros((), dtype=grad.dtype, device=grad.device).requires_grad_()
    return _core.record_function("OnceDifferentiable", [source], [grad.detach()], [True], backward)[0]
