"""Functions whose forward and backward are written in Python."""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps

from .. import _core
from . import _forward
from ._forward import Call, Like
from ._saved import save
from .grad_mode import no_grad


class FunctionCtx:
    """What a function's forward leaves for its backward."""

    def __init__(self):
        self._saved = self._saved_forward = ()
        self._to_save = self._to_save_forward = ()
        self._in_jvp = False
        self._dirty = ()
        self._constant = ()
        self._materialize = True
        self.needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps inputs, outputs or other tensors (or None); changes to them in place until backward are found out."""
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors (or None) for `jvp`, where `saved_tensors` are these; without, they are those for backward there too."""
        self._to_save_forward = tensors

    @property
    def saved_tensors(self):
        """What `save_for_backward` was given, or `save_for_forward` in `jvp`."""
        saved_tensors = self._saved_forward if self._in_jvp and self._saved_forward else self._saved
        return tuple(None if saved is None else saved.unpack() for saved in saved_tensors)

    @contextmanager
    def _running_jvp(self):
        """A block in which `jvp` runs."""
        self._in_jvp = True
        try:
            yield
        finally:
            self._in_jvp = False

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
        self._saved = _saved(self._to_save, outputs, bound)
        self._saved_forward = _saved(self._to_save_forward, outputs, bound)
        self._to_save = self._to_save_forward = ()
        return bound


def _saved(tensors, outputs, bound):
    """Saved tensors; those of outputs join `bound` with their places."""
    found = []
    for tensor in tensors:
        position = next((i for i, output in enumerate(outputs) if output is tensor), None)
        found.append(None if tensor is None else save(tensor, position is not None))
        if position is not None:
            bound.append((found[-1], position))
    return tuple(found)


class BackwardCFunction(FunctionCtx):
    """What `apply` gives forward and backward as `ctx`."""

    def __init__(self, function):
        super().__init__()
        self._called = function

    def name(self):
        """The name of the call's node in the graph."""
        return f"{self._called.__name__}Backward"


class FunctionMeta(type):
    """The class of functions: `isinstance(cls, FunctionMeta)` says whether a class is one."""


class Function(metaclass=FunctionMeta):
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

    vjp = backward  # another name that it may be defined under

    @staticmethod
    def jvp(ctx, *tangents):
        """Gives the outputs' tangents from those of forward's arguments (None for what is no tensor): `torch.func`'s forward mode calls it, if it is
        defined, and differentiates by `backward` if not."""
        raise NotImplementedError("a Function needs a static method jvp")

    setup_context = None

    def __call__(self, *args, **kwargs):
        """Nothing: functions are called by `apply`, of the class."""
        raise RuntimeError(f"{type(self).__name__}: functions have no instances to call, {type(self).__name__}.apply(..) expected")

    @classmethod
    def apply(cls, *args):
        """Calls the function; its result carries gradients."""
        ctx = BackwardCFunction(cls)
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


class InplaceFunction(Function):
    """A function of which an instance may say whether it changes its argument in place."""

    def __init__(self, inplace=False):
        self.inplace = inplace


def _is_among(tensor, tensors) -> bool:
    return any(tensor is other for other in tensors)


def _record(cls, ctx, args, places, tensors, outputs):
    """The outputs, recorded where they are tensors."""
    which = [i for i, output in enumerate(outputs) if isinstance(output, _core.Tensor)]
    if not which:
        return outputs
    results = [outputs[i] for i in which]
    bound = ctx._save(results)
    # The node is to keep neither arguments nor outputs.
    call = Call(cls, ctx, len(args), len(outputs), places, [Like.of(t) for t in tensors], which, [Like.of(t) for t in results])

    def backward(grads, needs):
        if not _forward.thread.transposing:
            return _gradients(call, grads)
        if cls.jvp is not Function.jvp:
            return _forward.transposed(call, grads)
        with _forward.transposing(False):
            return _gradients(call, grads)

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


def _gradients(call, grads):
    """What a function's own backward gives for its tensors, from the gradients of those among its outputs."""
    cls, ctx, count = call.cls, call.ctx, call.argument_count
    name = f"function {cls.__name__}Backward"
    given = [None] * call.output_count
    for i, grad, like in zip(call.outputs, grads, call.output_likes):
        given[i] = like.zeros() if grad is None and ctx._materialize else grad
    found = (cls.vjp if cls.backward is Function.backward else cls.backward)(ctx, *given)
    found = found if isinstance(found, (tuple, list)) else (found,)
    if len(found) < count or any(grad is not None for grad in found[count:]):
        raise RuntimeError(f"{name} returned an incorrect number of gradients (expected {count}, got {len(found)})")
    for i, grad in enumerate(found):
        if grad is not None and not isinstance(grad, _core.Tensor):
            raise RuntimeError(f"{name} returned {type(grad).__name__} for argument {i}, a Tensor or None expected")
    return [found[i] for i in call.inputs]


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
