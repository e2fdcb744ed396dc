"""Calls of Python functions as part of graphs."""

from __future__ import annotations

from .. import _core


def in_graph(name, function, tensors, results, changed=None):
    """What a function gives for tensors, as a call of the graph that this thread traces: the function runs each time that the graph does, between kernels.

    It takes and gives sequences of tensors. `results` are the shape and dtype of each that it gives, and `changed` says of each that it takes whether it changes it.
    """
    changed = changed or [False] * len(tensors)
    taken = ", ".join(f"Tensor{f'(a{place}!)' if changes else ''} x{place}" for place, changes in enumerate(changed))
    op = _core.CustomOp(
        lambda tensors, _: function(tensors), name=name, schema=f"({taken}) -> ({', '.join(['Tensor'] * len(results))})",
        fake=lambda *_: [_core.empty(tuple(shape), dtype=dtype, device="meta") for shape, dtype in results], effects=not (results or any(changed)),
    )  # fmt: skip
    return op(*tensors) or ()
