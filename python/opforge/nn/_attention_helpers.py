"""Parts of attention that packages with layers of their own take from `nn.functional`."""

from __future__ import annotations

from .. import _core as _C


def _none_or_dtype(input):
    """The dtype of a tensor; None of None."""
    if input is not None and not isinstance(input, _C.Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers to add: bools become minus infinity where they are true, numbers stay."""
    if mask is None:
        return None
    if mask.dtype is not _C.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if mask.dtype is _C.bool:
        return _C.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Queries, keys and values by linear maps."""
    return _C.nn.linear(q, w_q, b_q), _C.nn.linear(k, w_k, b_k), _C.nn.linear(v, w_v, b_v)


def _in_projection_packed(q, k, v, w, b=None):
    """Queries, keys and values by linear maps whose weights are one tensor, and so are their biases."""
    biases = (None, None, None) if b is None else b.chunk(3)
    return _in_projection(q, k, v, *w.chunk(3), *biases)


def _get_softmax_dim(name, ndim, stacklevel):
    """The dimension of a softmax that names none: 0 for tensors of 0, 1 and 3 dimensions, 1 for others."""
    return 0 if ndim in (0, 1, 3) else 1
