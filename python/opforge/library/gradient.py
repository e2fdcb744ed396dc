"""Calls of operators as autograd records them."""

from __future__ import annotations

from .. import _core
from .._C._below_autograd import _AutoDispatchBelowAutograd
from ..autograd import Function
from .binding import apart, described
from .results import joined, spread, tensors_in


def recorded(op, kernel, values):
    """What a kernel gives for the values of a call. It is recorded if a tensor among the positional ones needs a gradient; in lists each has one of its own."""
    positional, named = apart(op.schema, values)
    if not (_core.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_in(*positional))):
        return joined(op.schema, _computed(op, kernel, positional, named))
    call = _Call(kernel, named, _Lists(op.schema.positional, positional))
    flat = op.autograd_function.apply(call, *call.inputs.flat(positional))
    return joined(op.schema, call.outputs.filled(flat))


def _computed(op, kernel, positional, named):
    """The results as a list, of a kernel inside of which nothing is recorded."""
    with _AutoDispatchBelowAutograd():
        return spread(op.name, op.schema, kernel(*positional, **named))


class _Lists:
    """Values with lists of tensors among them, and the same one by one."""

    def __init__(self, kinds, values):
        """`kinds` are the parameters or results that the values are of."""
        self.lengths = [len(value) if kind.is_tensors and value is not None else None for kind, value in zip(kinds, values)]
        self._whole = [length is not None and all(isinstance(item, _core.Tensor) for item in value) for length, value in zip(self.lengths, values)]

    def flat(self, values):
        """The values, the items of lists in their place."""
        return [item for value, length in zip(values, self.lengths) for item in ((value,) if length is None else value)]

    def filled(self, flat):
        """As many lists and values, of these items; what is left over is left out."""
        items = iter(flat)
        return [next(items) if length is None else [next(items) for _ in range(length)] for length in self.lengths]

    def fits(self, place, grads):
        """Whether these are gradients of the value at a place: a list for a list of tensors, where None stands for all if some of them are None."""
        length = self.lengths[place]
        if length is None:
            return not isinstance(grads, (list, tuple))
        return len(grads) == length if isinstance(grads, (list, tuple)) else grads is None and not self._whole[place]


class _Call:
    """What a recorded call's forward needs to know besides the positional values, and where it tells the structure of its results."""

    def __init__(self, kernel, named, inputs):
        self.kernel, self.named, self.inputs = kernel, named, inputs
        self.outputs = None


def _given(schema, positional):
    """The number of values up to the last one that is not its parameter's default: as many gradients are enough."""
    count = len(positional)
    for parameter, value in zip(reversed(schema.positional), reversed(positional)):
        if isinstance(value, _core.Tensor) or type(value) is not type(parameter.default) or value != parameter.default:
            break
        count -= 1
    return count


def _changed(schema, positional):
    """The tensors that need a gradient and are changed: what comes out of them has none, so that backward through it is an error."""
    values = [value for parameter, value in zip(schema.positional, positional) if parameter.changes]
    return [tensor for tensor in tensors_in(*values) if tensor.requires_grad]


def function_of(op):
    """The autograd.Function of an operator's calls. Its ctx keeps the structure of arguments and results, and no tensors but those that are saved."""

    def forward(ctx, call, *flat):
        positional = call.inputs.filled(flat)
        changed = _changed(op.schema, positional)
        results = _computed(op, call.kernel, positional, call.named)
        call.outputs = _Lists(op.schema.results, results)
        ctx._inputs, ctx._outputs, ctx._given = call.inputs, call.outputs, _given(op.schema, positional)
        ctx.needs_input_grad = tuple(call.inputs.filled(ctx.needs_input_grad[1:]))
        if op.setup_context is not None:
            named = {"keyword_only_inputs": call.named} if call.named else {}
            op.setup_context(ctx=ctx, inputs=tuple(positional), output=joined(op.schema, results), **named)
        ctx.mark_dirty(*changed)
        outputs = call.outputs.flat(results)
        return (*outputs, *(tensor for tensor in changed if not any(tensor is output for output in outputs)))

    def backward(ctx, *grads):
        if op.backward is None:
            raise RuntimeError(f"{op.name}: no gradient is declared for it; register_autograd declares one")
        found = op.backward(ctx, *ctx._outputs.filled(grads))
        return (None, *ctx._inputs.flat(_gradients(op, ctx, found if isinstance(found, tuple) else (found,))))

    name = op.name if "." in op.name else f"{op.name}.default"
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"GeneratedBackwardFor_{name.replace('::', '_').replace('.', '_')}", (Function,), methods)


def _gradients(op, ctx, found):
    """What an operator's backward gave, as a gradient (or a list of them) for each positional parameter. RuntimeError if there are too few or other ones."""
    positional = op.schema.positional
    accepted = sorted({ctx._given, len(positional), len(op.schema.parameters)})
    if len(found) not in accepted or any(grad is not None for grad in found[len(positional) :]):
        raise RuntimeError(
            f"{op.name}: its backward gave {len(found)} gradients (accepted: {' or '.join(map(str, accepted))}, one for each positional parameter; "
            "None for what needs none)"
        )
    found = [*found, *[None] * len(positional)][: len(positional)]
    for place, (parameter, grads) in enumerate(zip(positional, found)):
        if not (ctx._inputs.fits(place, grads) or place >= ctx._given):
            wanted = "a tensor or None" if ctx._inputs.lengths[place] is None else f"a list of {ctx._inputs.lengths[place]}"
            raise RuntimeError(f"{op.name}: its backward gave {described(grads)} for {parameter.name!r} (accepted: {wanted}, the structure of the inputs)")
    return [[None] * length if grads is None and length is not None else grads for grads, length in zip(found, ctx._inputs.lengths)]
