"""The recorded graph: its nodes, edges, and hooks of several tensors."""

from __future__ import annotations

import threading
from typing import NamedTuple

from .. import _core
from .._absent import absent_class
from ._saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip

Node = _core.GradFn


class GradientEdge(NamedTuple):
    """An edge of the graph: a node and the number of its output."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor):
    """The edge that a tensor's gradient flows along."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn if tensor.grad_fn is not None else tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr)


allow_mutation_on_saved_tensors = absent_class(
    "torch.autograd.graph.allow_mutation_on_saved_tensors", "clone what is changed in place before backward has read it"
)


def increment_version(tensor):
    """Marks a tensor, or several, as changed in place."""
    for one in (tensor,) if isinstance(tensor, _core.Tensor) else tensor:
        one.detach().unsqueeze(0)[:0].zero_()  # a write of no elements counts too


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` in backward once the gradients of all tensors are there, or at the first with `mode="any"`.

    With "all" it is called with the list of gradients when as many have come as tensors need one; with "any" with the gradient. A backward is known to
    be a new one by a second gradient of the same tensor: one that reaches only some of the tensors does not call `fn` with None for the others.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    waiting = [(place, tensor) for place, tensor in enumerate(tensors) if tensor.requires_grad]
    lock, grads = threading.Lock(), {}

    def hook_of(place):
        def hook(grad):
            with lock:
                if place in grads:
                    grads.clear()
                first = not grads
                grads[place] = grad
                complete = len(grads) == len(waiting)
                given = [grads.get(i) for i in range(len(tensors))]
                if complete:
                    grads.clear()
            if mode == "any" and first:
                fn(grad)
            if mode == "all" and complete:
                fn(given)

        return hook

    return _Handles([tensor.register_hook(hook_of(place)) for place, tensor in waiting])


class _Handles:
    """Hooks that are removed together."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        """Removes them."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()
