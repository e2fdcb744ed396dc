"""Checkpointing: what a function computes is not kept for backward, but computed again there. Time for memory."""

from __future__ import annotations

import functools
from contextlib import contextmanager

from .. import _core as _C
from .._calls import intercept as _intercept
from ..autograd._leaves import leaf_node, leaf_nodes
from ..autograd._saved import hooked, save
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from .._calls.tracing import is_compiling
from ._pytree import tree_flatten, tree_unflatten
from ._checkpoint_names import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    DefaultDeviceType,
    GraphExecGroup,
    SelectiveCheckpointContext,
    check_backward_validity,
    create_selective_checkpoint_contexts,
    detach_variable,
    get_device_states,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup", "SelectiveCheckpointContext",
    "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states",
    "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """A function whose second run did not compute what the first did."""


def checkpoint(
    function=None, *args, use_reentrant=None, preserve_rng_state=True, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, respect_saved_tensors_hooks=None, **kwargs
):  # fmt: skip
    """`function(*args, **kwargs)`, which runs again in backward instead of keeping what it computed.

    Gradients flow to tensors among the arguments (in containers that `utils._pytree` knows too) and to the parameters that the function uses; they
    can be differentiated again, for which the function runs once more. The second run has the same random numbers unless `preserve_rng_state` is false, and the
    same state of autocast. It must compute the same: CheckpointError, a RuntimeError, if its outputs have other shapes or dtypes, which
    `determinism_check="none"` leaves out. `context_fn` returns two context managers, one for each run. `use_reentrant` chooses between two ways that
    PyTorch has; here is one, which can do what either can, and which `debug`, `early_stop` and `respect_saved_tensors_hooks` change nothing of.
    Without `function` it decorates one. In compiled functions nothing is computed again.

    >>> x = opforge.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    """
    if function is None:
        options = dict(use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state, context_fn=context_fn, determinism_check=determinism_check)
        return lambda function: functools.wraps(function)(functools.partial(checkpoint, function, **options))
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check must be 'default' or 'none', got {determinism_check!r}")
    first, second = (context_fn or noop_context_fn)()
    # A graph's second run would draw random numbers of its own, and what graphs keep is their own affair.
    if not _C.is_grad_enabled() or is_compiling():
        with first:
            return function(*args, **kwargs)
    given, rebuild = _flatten((args, kwargs))

    def run(inputs):
        args, kwargs = rebuild(inputs)
        with hooked(None):  # what this run would keep is gone, or read, at once
            return function(*args, **kwargs)

    random_state = _C.get_rng_state() if preserve_rng_state else None
    cast = _intercept.thread.cast
    inputs = _detached(given)
    with first:
        result = run(inputs)
    outputs, rebuild_result = _flatten(result)
    parameters, kinds = _leaves(outputs, inputs), _kinds(outputs)

    def run_again(inputs):
        with enable_grad(), _intercept.casting(cast), second, _random_numbers(random_state):
            again = _flatten(run(inputs))[0]
        if determinism_check != "none":
            _check_same(kinds, _kinds(again))
        return again

    constant = [not output.requires_grad for output in outputs]
    outputs = [output.detach() for output in outputs]  # the first run's history is gone with this
    result = inputs = None
    again = _Again(run_again, given, parameters)
    found = list(_Checkpoint.apply(again, outputs, constant, *given, *parameters))
    if constant.count(False) > 1:
        for i, output in enumerate(found):
            if not constant[i]:
                found[i] = _Output.apply(again, (i, len(found)), output, *given, *parameters)
    return rebuild_result(found)


class CheckpointFunction:
    """What PyTorch's reentrant checkpoints are made of, as programs call it."""

    @staticmethod
    def apply(run_function, preserve_rng_state, *args):
        """`checkpoint(run_function, *args)`."""
        return checkpoint(run_function, *args, preserve_rng_state=preserve_rng_state, use_reentrant=True)


class _Again:
    """The arguments of a checkpoint's function, and how it computes its outputs again from them, with history."""

    def __init__(self, run, given, parameters):
        self.run, self.parameters = run, parameters
        self.saved = [save(tensor) for tensor in given]
        self.differentiated = False

    def gradients(self, grads):
        """The gradients of the arguments and of the parameters, for those of the outputs: differentiable ones while operators are recorded."""
        given = [saved.unpack() for saved in self.saved]
        if _C.is_grad_enabled():  # a function as any other, of which the next backward wants gradients
            return checkpoint(self._gradients, grads, given, use_reentrant=False, preserve_rng_state=False)
        return self._gradients(grads, _detached(given))

    def _gradients(self, grads, inputs):
        outputs = self.run(inputs)
        pairs = [(output, grad) for output, grad in zip(outputs, grads) if grad is not None and output.requires_grad]
        sources = [*inputs, *self.parameters]
        which = [i for i, source in enumerate(sources) if source.requires_grad]
        found = [None] * len(sources)
        if pairs and which:
            # A tensor that the function took from its surroundings has a history that others want too: hence `retain_graph`.
            outputs, grads = zip(*pairs)
            create_graph, wanted = _C.is_grad_enabled(), [sources[i] for i in which]
            for i, grad in zip(which, _C.grad(outputs, wanted, grads, retain_graph=True, create_graph=create_graph, allow_unused=True)):
                found[i] = grad
        return found


class _Checkpoint(Function):
    """Outputs that are there already, with a backward that computes them again, from arguments and parameters."""

    @staticmethod
    def forward(ctx, again, outputs, constant, *tensors):
        ctx.again = again
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(output for output, is_constant in zip(outputs, constant) if is_constant))
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        ctx.again.differentiated = True
        return None, None, None, *ctx.again.gradients(grads)


class _Output(Function):
    """One of several outputs of a checkpoint: a backward that has come to another one before, and freed their node, has to compute them again for this."""

    @staticmethod
    def forward(ctx, again, place, output, *tensors):
        ctx.again, ctx.place = again, place
        return output.detach()

    @staticmethod
    def backward(ctx, grad):
        if not ctx.again.differentiated:
            return None, None, grad, *(None for _ in ctx.needs_input_grad[3:])
        place, count = ctx.place
        return None, None, None, *ctx.again.gradients([grad if i == place else None for i in range(count)])


def _detached(tensors):
    """Leaves over the tensors, which need gradients where these do."""
    return [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in tensors]


def _flatten(tree):
    """The tensors in a tree of containers (those that `utils._pytree` knows), and a function that makes the tree of other tensors."""
    leaves, structure = tree_flatten(tree)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _C.Tensor)]
    constants = [None if isinstance(leaf, _C.Tensor) else leaf for leaf in leaves]

    def rebuild(others):
        filled = list(constants)
        for place, other in zip(places, others):
            filled[place] = other
        return tree_unflatten(filled, structure)

    return [leaves[i] for i in places], rebuild


def _leaves(outputs, inputs):
    """The leaves that gradients of the outputs reach, besides the inputs."""
    known = [leaf_node(tensor) for tensor in inputs if tensor.requires_grad and tensor.is_leaf]
    return [node.variable for node in leaf_nodes(outputs) if node not in known]


@contextmanager
def _random_numbers(state):
    """Random numbers go back to `state` for the block; None leaves them."""
    if state is None:
        yield
        return
    after = _C.get_rng_state()
    _C.set_rng_state(state)
    try:
        yield
    finally:
        _C.set_rng_state(after)


def _kinds(outputs):
    return [(tuple(output.shape), output.dtype) for output in outputs]


def _check_same(before, after):
    if before != after:
        raise CheckpointError(f"checkpoint: a function that computes the same each time expected; first it returned {before}, then {after}")


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True):
    """`functions` (a Sequential, or a list) applied one after the other, in `segments` parts of about one length, all but the last
    checkpointed."""
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(f"checkpoint_sequential: segments from 1 to the number of functions, {len(functions)}, expected, got {segments}")
    size = len(functions) // segments

    def run(start, end):
        def apply(input):
            for function in functions[start:end]:
                input = function(input)
            return input

        return apply

    for i in range(segments - 1):
        part = run(i * size, (i + 1) * size)
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return run((segments - 1) * size, len(functions))(input)
