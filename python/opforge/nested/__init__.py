"""Nested tensors: several tensors, which may have other sizes each, as one.

Functions of elements, of the last dimension (`linear`, `layer_norm`, `softmax`, `embedding`), products, attention, sums, transposes and `cat` are made for
each part, so they take as many calls; everything else is a NotImplementedError that names the function. Both of PyTorch's layouts, `strided` and `jagged`,
are kept as parts.

>>> x = nested_tensor([opforge.ones(2, 3), opforge.ones(1, 3)])
>>> to_padded_tensor(x * 2, 0.0)[1].tolist()
[[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
"""

from __future__ import annotations

from .. import _core
from .._calls.arguments import names_arguments as _names_arguments
from .._tensors.layouts import jagged, strided
from ..nn.functional import pad
from ._tensor import NestedTensor, nest

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]


def _checked(name, parts, layout):
    layout = strided if layout is None else layout
    if layout not in (strided, jagged):
        raise _core.ArgumentError(f"{name}: layout {layout} (accepted: strided, jagged)")
    if layout is jagged and not parts:
        raise _core.ArgumentError(f"{name}: Cannot construct a nested tensor from an empty tensor list")
    for place, part in enumerate(parts):
        if part.dim() != parts[0].dim():
            raise _core.ShapeError(
                f"{name}: All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {part.dim()} for Tensor at index {place} and dimension {parts[0].dim()} for Tensor at index 0."
            )
        if part.dtype != parts[0].dtype:
            raise _core.DTypeError(f"{name}: parts of one dtype expected, got {parts[0].dtype} and, at index {place}, {part.dtype}")
        if layout is jagged and (part.dim() == 0 or part.shape[1:] != parts[0].shape[1:]):
            raise _core.ShapeError(f"{name}: parts of the layout jagged that differ in their first dimension only expected, got {tuple(part.shape)}")
    return layout


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor of copies of tensors, lists or arrays, without history."""
    parts = [each.detach().clone() if isinstance(each, _core.Tensor) else _core.tensor(each) for each in tensor_list]
    parts = parts if dtype is None else [part.to(dtype) for part in parts]
    parts = parts if device is None else [part.to(device) for part in parts]
    tensor = nest(parts, _checked("nested_tensor", parts, layout), dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of copies of tensors, which gradients flow to; of a dense tensor, its entries along the first dimension."""
    if isinstance(ts, NestedTensor):
        return ts if dtype is None else ts.to(dtype)
    parts = list(ts.unbind() if isinstance(ts, _core.Tensor) else ts)
    strange = next((part for part in parts if not isinstance(part, _core.Tensor)), None)
    if strange is not None:
        raise TypeError(f"as_nested_tensor(): argument 'ts' holds a {type(strange).__name__}, expected tensors")
    parts = [part.clone() if dtype is None else part.to(dtype, copy=True) for part in parts]
    parts = parts if device is None else [part.to(device) for part in parts]
    return nest(parts, _checked("as_nested_tensor", parts, layout), dtype)


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The parts of `values` that begin at `offsets` (the last of which is the end), or that have the `lengths`, as a nested tensor with the layout `jagged`.
    With both, each begins at its offset and has its length."""
    if jagged_dim not in (None, 1):
        raise _core.UnsupportedError(f"nested_tensor_from_jagged: jagged_dim=1 expected, got {jagged_dim}")
    if offsets is None and lengths is None:
        raise _core.ArgumentError("nested_tensor_from_jagged: offsets or lengths expected")
    if offsets is None:
        offsets = _core.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    starts = offsets.tolist()
    counts = offsets.diff().tolist() if lengths is None else lengths.tolist()
    if any(count < 0 for count in counts) or starts[0] < 0 or any(start + count > len(values) for start, count in zip(starts, counts)):
        raise _core.ArgumentError(f"nested_tensor_from_jagged: rising offsets from 0 to {len(values)} expected, got {starts[:8]} with lengths {counts[:8]}")
    parts = [values.narrow(0, start, count).clone() for start, count in zip(starts, counts)]
    return nest(parts, _checked("nested_tensor_from_jagged", parts, jagged))


@_names_arguments
def narrow(tensor, dim, start, length, layout=strided):
    """The rows `start[i]` to `start[i] + length[i]` of each entry of a dense tensor, as copies; `dim` is 1."""
    if dim != 1:
        raise _core.ArgumentError(f"nested.narrow: dim=1 expected, got {dim}")
    starts, lengths = (each.tolist() if isinstance(each, _core.Tensor) else [each] * len(tensor) for each in (start, length))
    parts = [entry.narrow(0, first, count).clone() for entry, first, count in zip(tensor.unbind(), starts, lengths)]
    return nest(parts, _checked("narrow", parts, layout))


@_names_arguments
def masked_select(tensor, mask):
    """The elements of each entry of a dense tensor where the mask is true, with the layout `jagged`."""
    mask = mask.expand(tensor.shape)
    return nest([entry[kept] for entry, kept in zip(tensor.unbind(), mask.unbind())], jagged)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """The parts as a dense tensor, each filled up with `padding` to the largest sizes, or to those of `output_size`, whose first is the number of parts."""
    if not isinstance(input, NestedTensor) or not len(input):
        raise _core.ArgumentError("to_padded_tensor: a nested tensor with parts expected")
    largest = [max(sizes) for sizes in zip(*(part.shape for part in input._parts))]
    sizes = largest if output_size is None else list(output_size)[1:]
    if len(sizes) != len(largest) or any(size < least for size, least in zip(sizes, largest)):
        raise _core.ShapeError(f"to_padded_tensor: an output_size of at least {(len(input), *largest)} expected, got {tuple(output_size)}")
    padded = []
    for part in input._parts:
        missing = [(0, size - own) for size, own in zip(sizes, part.shape)]
        padded.append(pad(part, [count for pair in reversed(missing) for count in pair], value=padding))
    result = _core.stack(padded)
    return result if out is None else out.resize_as_(result).copy_(result)
