"""Bounds on gradients."""

from __future__ import annotations

import math

from ... import _core as _C


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, _C.Tensor) else parameters
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors' elements together, a scalar tensor."""
    tensors = [tensors] if isinstance(tensors, _C.Tensor) else list(tensors)
    if not tensors:
        return _C.tensor(0.0)
    norm_type = float(norm_type)
    norms = _C.stack([_C.norm(tensor.detach(), norm_type) for tensor in tensors])
    total = norms.max() if norm_type == math.inf else _C.norm(norms, norm_type)
    if error_if_nonfinite and not _C.isfinite(total).item():
        raise RuntimeError(f"the total norm of order {norm_type} of the gradients is not finite: {total.item()}")
    return total


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients, in place, so that their norm together is at most `max_norm`; returns the norm before.

    After the backward of a `DistributedDataParallel` model gradients are averages over all ranks, the same on each: so are the norm and the scale.
    """
    parameters = [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales all gradients, in place, by `max_norm / total_norm` unless that is above 1."""
    gradients = _gradients(parameters)
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with_scale = {gradient.dtype: scale.to(gradient.dtype) for gradient in gradients}
    for gradient in gradients:
        gradient.detach().mul_(with_scale[gradient.dtype])


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps every element of the gradients, in place, to `-clip_value .. clip_value`."""
    clip_value = float(clip_value)
    for gradient in _gradients(parameters):
        gradient.detach().clamp_(min=-clip_value, max=clip_value)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of [`clip_grad_norm_`]."""
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
