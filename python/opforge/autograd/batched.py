"""Gradients for several gradients of the outputs at once: `autograd.grad(.., is_grads_batched=True)`."""

from __future__ import annotations

from collections.abc import Sized

from .. import _core


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None, is_grads_batched=False,
    materialize_grads=False,
):  # fmt: skip
    """The gradients of the outputs' sum with respect to the inputs, as a tuple; `.grad` stays as it is.

    With `is_grads_batched` the tensors of `grad_outputs` have one more dimension, the first: there is a backward for each of its indices, and the
    gradients are stacked along such a dimension too.
    """
    if not isinstance(inputs, _core.Tensor) and isinstance(inputs, Sized) and not len(inputs):
        raise RuntimeError("grad: inputs are empty, at least one tensor expected")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True has zeros for unused inputs, so allow_unused must be True or left out, got False")
    if not is_grads_batched:
        return _core.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, False, materialize_grads)
    batched = (grad_outputs,) if isinstance(grad_outputs, _core.Tensor) else tuple(grad_outputs or ())
    sizes = {len(each) for each in batched if each is not None and each.dim()}
    if len(sizes) != 1:
        raise RuntimeError(f"grad: grad_outputs of {sorted(sizes)} gradients each, expected one number of them along the first dimension")
    (count,) = sizes
    keep = create_graph if retain_graph is None else retain_graph
    rows = []
    for i in range(count):
        row = [None if each is None else each[i] for each in batched]
        last = i + 1 == count
        rows.append(_core.grad(outputs, inputs, row, keep or not last, create_graph, only_inputs, allow_unused, False, materialize_grads))
    return tuple(None if each[0] is None else _core.stack(each) for each in zip(*rows))
