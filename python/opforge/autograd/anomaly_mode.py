"""Errors where a backward pass gives NaN: a mode for finding out where losses go wrong.

It looks at what reaches the leaves: an error names the function that gave a leaf its NaN, which may itself have got it from a later one. It does not know
where that function was called.
"""

from __future__ import annotations

import functools

from .. import _core

_enabled = False
_check_nan = True
_backward = _core.Tensor.backward


def is_anomaly_enabled() -> bool:
    """Whether gradients are checked."""
    return _enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN is an error where gradients are checked."""
    return _check_nan


def set_anomaly_enabled(enabled, check_nan=True):
    """Has `Tensor.backward` and `autograd.backward` check the gradients of leaves, or no longer."""
    from .. import autograd

    global _enabled, _check_nan
    _enabled, _check_nan = bool(enabled), bool(check_nan)
    checks = _enabled and _check_nan
    _core.Tensor.backward = _checked_method if checks else _backward
    autograd.backward = _checked_function if checks else _core.backward


class set_detect_anomaly:
    """Turns the checks on or off; as a context manager, until the end of the block."""

    def __init__(self, mode, check_nan=True):
        self._before = _enabled, _check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        set_anomaly_enabled(*self._before)


class detect_anomaly:
    """In the block, a backward pass that gives a leaf NaN is a RuntimeError that names the function whose gradient it was.

    >>> x = opforge.tensor([0.0], requires_grad=True)
    >>> with opforge.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output: the gradient of a leaf of shape (1,)
    """

    def __init__(self, check_nan=True):
        self._wanted = True, check_nan

    def __enter__(self):
        self._before = _enabled, _check_nan
        set_anomaly_enabled(*self._wanted)

    def __exit__(self, *exception):
        set_anomaly_enabled(*self._before)


@functools.wraps(_core.Tensor.backward)
def _checked_method(self, *args, **kwargs):
    edges = _edges_to_leaves([self])
    _backward(self, *args, **kwargs)
    _check(edges)


@functools.wraps(_core.backward)
def _checked_function(tensors, *args, **kwargs):
    edges = _edges_to_leaves([tensors] if isinstance(tensors, _core.Tensor) else tensors)
    _core.backward(tensors, *args, **kwargs)
    _check(edges)


def _edges_to_leaves(tensors):
    """(function's name, place among its outputs, leaf) for each leaf that the tensors were computed from."""
    nodes = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    seen, found = set(nodes), []
    while nodes:
        node = nodes.pop()
        for place, (following, _) in enumerate(node.next_functions):
            if following is None:
                continue
            leaf = getattr(following, "variable", None)
            if leaf is not None:
                found.append((node.name(), place, leaf))
            elif following not in seen:
                seen.add(following)
                nodes.append(following)
    return found


def _check(edges):
    for name, place, leaf in edges:
        if leaf.grad is not None and leaf.grad.isnan().any().item():
            raise RuntimeError(f"Function '{name}' returned nan values in its {place}th output: the gradient of a leaf of shape {tuple(leaf.shape)}")
