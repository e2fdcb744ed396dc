"""Operators that move, choose and write elements, and that are made with arguments."""

from __future__ import annotations

from .... import _core
from .. import function
from .configured import configured

_OPERATORS = {
    "BroadcastTo": lambda input, *, shape=...: function.broadcast_to(input, shape),
    "Concat": lambda tensors, *, axis=0: _core.cat(tensors, axis),
    "Gather": lambda input_params, input_indices, axis, *, batch_dims=0: function.gather(input_params, input_indices, axis, batch_dims),
    "Meshgrid": lambda inputs, *, indexing="xy": tuple(_core.meshgrid(*inputs, indexing=indexing)),
    "OneHot": lambda indices, depth, on_value, off_value, *, axis=-1: function.one_hot(indices, depth, on_value, off_value, axis),
    "ReverseV2": lambda input, *, axis=...: _core.flip(input, axis),
    "Sort": lambda x, *, axis=-1, descending=False: function.sort(x, axis, descending),
    "Split": lambda input_x, *, axis=0, output_num=1: tuple(_core.chunk(input_x, output_num, axis)),
    "Squeeze": lambda input, *, axis=(): _core.squeeze(input) if axis == () else _core.squeeze(input, axis),
    "Stack": lambda tensors, *, axis=0: _core.stack(tensors, axis),
    "StridedSlice": lambda input_x, begin, end, strides, *, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0: _sliced(
        input_x, begin, end, strides, begin_mask, end_mask, (ellipsis_mask, new_axis_mask, shrink_axis_mask)
    ),
    "TopK": lambda input_x, k, *, sorted=True: function.topk(input_x, k, sorted=sorted),
    "Tril": lambda input, *, diagonal=0: _core.tril(input, diagonal),
    "Triu": lambda input, *, diagonal=0: _core.triu(input, diagonal),
    "Unstack": lambda input_x, *, axis=0, num=None: tuple(_core.unbind(input_x, axis)),
}


def _sliced(input, begin, end, strides, begin_mask, end_mask, others):
    """Slices along the first axes; where a mask has a bit, they start at the beginning, or stop at the end."""
    if any(others):
        raise NotImplementedError("StridedSlice: ellipsis_mask, new_axis_mask and shrink_axis_mask (accepted: 0)")
    begin = [None if begin_mask >> i & 1 else item for i, item in enumerate(begin)]
    end = [None if end_mask >> i & 1 else item for i, item in enumerate(end)]
    return function.strided_slice(input, begin, end, strides)


globals().update(configured(_OPERATORS, __name__))
__all__ = list(_OPERATORS)
