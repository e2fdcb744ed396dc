"""Hooks of what backward needs: `saved_tensors_hooks` and what is made of it.

Nodes of the core do not show what they save, so a recorded call within a block keeps its packed arguments, and is made again in backward.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

from .. import _core
from .._calls import intercept as _intercept
from .._calls.tracing import is_compiling
from ..overrides import TorchFunctionMode
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from ._saved import hooked, thread
from .function import Function
from .grad_mode import enable_grad


class saved_tensors_hooks:
    """A block in which what is kept for backward goes through `pack_hook(tensor)`, and comes back by `unpack_hook(packed)` when backward needs it.

    What `autograd.Function` saves and what a checkpoint is given is packed as it is. What operators keep cannot be exchanged: instead each recorded
    call with results of their own has the tensors it was given packed, and is made again in backward from what they unpack to. So packed is, beside what
    PyTorch packs, what operators would not have kept, and not their results; values and gradients of any order are as there. Calls that change an
    argument (in place, or running statistics), views, indexing and calls of sparse tensors and other subclasses keep what they always keep, unpacked.

    >>> x = opforge.tensor([2.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.tolist(), opforge.tensor):
    ...     y = x.exp().sum()
    >>> y.backward()
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack, self.unpack = pack_hook, unpack_hook

    def __enter__(self):
        if thread.refusal is not None:
            raise RuntimeError(thread.refusal)
        blocks = self.__dict__.setdefault("_blocks", [])
        with ExitStack() as entered:
            for block in self._contexts():
                entered.enter_context(block)
            blocks.append(entered.pop_all())

    def _contexts(self):
        return hooked(self), _Repeating(self)

    def __exit__(self, *exception):
        self._blocks.pop().close()


class save_on_cpu(saved_tensors_hooks):
    """A block in which what backward needs is kept in the CPU's memory. It is there anyway, so nothing is moved; hooks around the block see nothing of
    what is saved in it, as they would not if it were."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)

    def _contexts(self):
        return (hooked(None),)


@contextmanager
def disable_saved_tensors_hooks(error_message):
    """A block in which to begin hooks of saved tensors is a RuntimeError of that message."""
    before, thread.refusal = thread.refusal, error_message
    try:
        yield
    finally:
        thread.refusal = before


class _Repeating(TorchFunctionMode):
    """Has each call that is recorded while these hooks are the innermost keep its packed arguments and nothing else."""

    def __init__(self, hooks):
        self._hooks = hooks

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if thread.hooks[-1] is not self._hooks or not _core.is_grad_enabled() or is_compiling():
            return func(*args, **kwargs)
        random_state, cast = _core.get_rng_state(), _intercept.thread.cast
        leaves, structure = tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, _core.Tensor)]
        given = [leaves[i] for i in places]
        if _intercept.overloaded(given):
            return func(*args, **kwargs)
        versions = [tensor._version for tensor in given]
        result = func(*args, **kwargs)
        outputs, changed = _tensors(result), versions != [tensor._version for tensor in given]
        if changed or not any(output.requires_grad for output in outputs) or _memory(outputs) & _memory(given):
            return result
        constants = [None if isinstance(leaf, _core.Tensor) else leaf for leaf in leaves]

        def again(tensors):
            from ..utils.checkpoint import _random_numbers

            filled = list(constants)
            for place, tensor in zip(places, tensors):
                filled[place] = tensor
            args, kwargs = tree_unflatten(filled, structure)
            with hooked(None), _intercept.casting(cast), _random_numbers(random_state):
                return _tensors(func(*args, **kwargs))

        recorded = iter(_Repeated.apply(again, outputs, *given))
        found, shape = tree_flatten(result)
        return tree_unflatten([next(recorded) if isinstance(leaf, _core.Tensor) else leaf for leaf in found], shape)


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, _core.Tensor)]


def _memory(tensors):
    """The addresses of the tensors' storages."""
    return {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}


class _Repeated(Function):
    """Results of a call, which backward makes again to differentiate it: `again(tensors)` gives them from the tensors that the call was given."""

    @staticmethod
    def forward(ctx, again, outputs, *tensors):
        ctx.again = again
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        results = tuple(output.detach() for output in outputs)
        ctx.mark_non_differentiable(*(result for result, output in zip(results, outputs) if not output.requires_grad))
        return results

    @staticmethod
    def backward(ctx, *grads):
        needs, create_graph = ctx.needs_input_grad[2:], _core.is_grad_enabled()
        with enable_grad():
            # Aliases: a gradient by one argument is not to go on to another that it was computed from.
            inputs = [_alias(tensor, need, create_graph) for tensor, need in zip(ctx.saved_tensors, needs)]
            outputs = ctx.again(inputs)
        pairs = [(output, grad) for output, grad in zip(outputs, grads) if grad is not None and output.requires_grad]
        found = iter(())
        if pairs and any(needs):
            outputs, grads = zip(*pairs)
            wanted = [tensor for tensor, need in zip(inputs, needs) if need]
            found = iter(_core.grad(outputs, wanted, grads, create_graph=create_graph, allow_unused=True))
        return None, None, *(next(found, None) if need else None for need in needs)


def _alias(tensor, need, create_graph):
    if not need:
        return tensor.detach()
    return tensor.view_as(tensor) if create_graph else tensor.detach().requires_grad_()
