"""Functions that make tensors, and that move, choose and write elements."""

from __future__ import annotations

from .... import _core
from ....autograd import no_grad
from ... import operators
from ...adapters import adapted, taken
from ...dtype import to_core
from ...operators import Base, core_dtype
from ...structure import mapped

_SAME = """
    arange argwhere cat chunk column_stack concat diag_embed diagflat dstack fliplr flipud full_like hstack masked_select moveaxis
    movedim msort narrow ones_like ravel repeat_interleave select_scatter slice_scatter squeeze stack swapaxes swapdims t take
    tril triu unbind unique_consecutive unsqueeze vstack where zeros_like is_tensor
"""
_ADAPTED = {
    "argsort": lambda input, axis=-1, descending=False: Base.to(_core.argsort(input, axis, descending), _core.int32),
    "assign": lambda variable, value: _assigned(variable, value),
    "assign_add": lambda variable, value: _assigned(variable, operators.add(variable, value)),
    "assign_sub": lambda variable, value: _assigned(variable, operators.sub(variable, value)),
    "broadcast_to": lambda input, shape: _core.broadcast_to(input, [size if size != -1 else input.shape[i - len(shape)] for i, size in enumerate(shape)]),
    "cast": lambda input, dtype: Base.to(input, to_core(dtype)) if isinstance(input, Base) else _core.tensor(input, dtype=to_core(dtype)),
    "clip_by_value": lambda x, clip_value_min=None, clip_value_max=None: mapped(lambda item: _core.clamp(item, clip_value_min, clip_value_max), x),
    "depend": lambda value, expr: value,
    "diag": lambda input: _core.diag(input),
    "dtype": lambda x: x.dtype,
    "dyn_shape": lambda input_x: _core.tensor(list(input_x.shape)),
    "expand_dims": lambda input_x, axis: _core.unsqueeze(input_x, axis),
    "eye": lambda n, m=None, dtype=None: _core.eye(n, n if m is None else m, dtype=dtype),
    "fill": lambda type, shape, value: _core.full(_sizes(shape), value, dtype=to_core(type)),
    "fills": lambda x, value: _core.full_like(x, value),
    "flatten": lambda input, order="C", *, start_dim=1, end_dim=-1: _flat(input, order, start_dim, end_dim),
    "flip": lambda input, dims: _core.flip(input, dims),
    "full": lambda size, fill_value, *, dtype=None: _core.full(_sizes(size), fill_value, dtype=dtype),
    "gather": lambda input_params, input_indices, axis, batch_dims=0: _gathered(input_params, input_indices, axis, batch_dims),
    "gather_d": lambda x, dim, index: _core.gather(x, dim, _int64(index)),
    "gather_elements": lambda input, dim, index: _core.gather(input, dim, _int64(index)),
    "gather_nd": lambda input_x, indices: Base.__getitem__(input_x, _places(indices)),
    "identity": lambda x: x,
    "index_add": lambda x, indices, y, axis, use_lock=True, check_index_bound=True: _core.index_add(x, axis, _int64(indices), y),
    "index_fill": lambda x, axis, index, value: _core.index_fill(x, axis, _int64(index), value),
    "index_select": lambda input, axis, index: _core.index_select(input, axis, _int64(index)),
    "masked_fill": lambda input_x, mask, value: _core.masked_fill(input_x, mask, value),
    "meshgrid": lambda *inputs, indexing="xy": tuple(_core.meshgrid(*inputs, indexing=indexing)),
    "nonzero": lambda input, *, as_tuple=False: _core.nonzero(input, as_tuple=as_tuple),
    "one_hot": lambda indices, depth, on_value=1, off_value=0, axis=-1: _one_hot(indices, depth, on_value, off_value, axis),
    "ones": lambda shape, dtype=None: _core.ones(_sizes(shape), dtype=dtype),
    "permute": lambda input, axis: _core.permute(input, tuple(axis)),
    "range": lambda start, end, step: _core.arange(*map(_number, (start, end, step)), dtype=core_dtype(start)),
    "rank": lambda input_x: input_x.ndim,
    "reshape": lambda input, shape: _core.reshape(input, _sizes(shape)),
    "reverse": lambda x, axis: _core.flip(x, axis),
    "roll": lambda input, shifts, dims=None: _core.roll(input, shifts, dims),
    "rot90": lambda input, k, dims: _core.rot90(input, k, dims),
    "scalar_to_tensor": lambda input_x, dtype=_core.float32: _core.tensor(input_x, dtype=dtype),
    "scatter": lambda input, axis, index, src: _core.scatter(input, axis, _int64(index), src),
    "scatter_nd": lambda indices, updates, shape: _core.zeros(_sizes(shape), dtype=core_dtype(updates)).index_put(_places(indices), updates, accumulate=True),
    "searchsorted": lambda sorted_sequence, values, *, out_int32=False, right=False, side=None, sorter=None: _core.searchsorted(
        sorted_sequence, values, out_int32=out_int32, right=right, side=side, sorter=sorter
    ),
    "select": lambda condition, input, other: _core.where(condition, input, other),
    "shape": lambda input_x: tuple(input_x.shape),
    "size": lambda input_x: input_x.numel(),
    "slice": lambda input_x, begin, size: Base.__getitem__(input_x, tuple(_part(b, s) for b, s in zip(_sizes(begin), _sizes(size)))),
    "sort": lambda input_x, axis=-1, descending=False: operators.with_int32(_core.sort(input_x, axis, descending)),
    "split": lambda tensor, split_size_or_sections, axis=0: tuple(_core.split(tensor, split_size_or_sections, axis)),
    "stop_gradient": lambda value: mapped(Base.detach, value),
    "strided_slice": lambda input_x, begin, end, strides: Base.__getitem__(*operators.sliced(input_x, tuple(map(slice, begin, end, strides)))),
    "tensor_scatter_add": lambda input_x, indices, updates: Base.index_put(input_x, _places(indices), updates, accumulate=True),
    "tensor_scatter_elements": lambda input_x, indices, updates, axis=0, reduction="none": _scattered(input_x, indices, updates, axis, reduction),
    "tensor_scatter_sub": lambda input_x, indices, updates: Base.index_put(input_x, _places(indices), -updates, accumulate=True),
    "tensor_scatter_update": lambda input_x, indices, updates: Base.index_put(input_x, _places(indices), updates),
    "tile": lambda input, dims: _core.tile(input, dims),
    "topk": lambda input, k, dim=None, largest=True, sorted=True: operators.with_int32(_core.topk(input, k, -1 if dim is None else dim, largest, sorted)),
    "transpose": lambda input, dims: _core.permute(input, tuple(dims)),
    "tuple_to_array": lambda input_x: _core.tensor(list(input_x)).to(_core.int32 if all(isinstance(item, int) for item in input_x) else _core.float32),
    "unique": lambda input: _core.unique(input, return_inverse=True),
    "unstack": lambda input_x, axis=0: tuple(_core.unbind(input_x, axis)),
    "zeros": lambda size, dtype=None: _core.zeros(_sizes(size), dtype=dtype),
}


def _sizes(shape) -> tuple:
    """A shape that is given as a number, a tuple, a list or a tensor."""
    if isinstance(shape, Base):
        shape = shape.tolist()
    return (shape,) if isinstance(shape, int) else tuple(map(_number, shape))


def _number(value):
    return value.item() if isinstance(value, Base) else value


def _int64(indices):
    return Base.to(indices, _core.int64)


def _places(indices) -> tuple:
    """The last axis of indices as one tensor for each dimension."""
    return tuple(_core.unbind(_int64(indices), -1))


def _part(begin, size):
    return slice(begin, None if size == -1 else begin + size)


def _flat(input, order, start_dim, end_dim):
    if order not in ("C", "F"):
        raise ValueError(f"flatten: order must be 'C' or 'F', not {order!r}")
    if order == "F":
        input = _core.permute(input, tuple(range(input.ndim))[::-1])
    return _core.flatten(input, start_dim if input.ndim > 1 else 0, end_dim)


def _assigned(variable, value):
    """Writes the elements of `value`, of the same shape, or a number, into a parameter; returns the parameter."""
    shape = tuple(value.shape) if isinstance(value, Base) else ()
    if isinstance(value, Base) and tuple(variable.shape) != shape and value.numel() > 1:
        raise ValueError(f"assign: value has shape {shape} (accepted: {tuple(variable.shape)}, the variable's)")
    with no_grad():
        Base.copy_(variable, value) if isinstance(value, Base) else Base.fill_(variable, value)
    return variable


def _gathered(input, indices, axis, batch_dims):
    """Slices along an axis; with `batch_dims`, each from the part of `input` with the same first indices."""
    axis, indices = int(_number(axis)) % max(input.ndim, 1), _int64(indices)
    if batch_dims == 0:
        shape = (*input.shape[:axis], *indices.shape, *input.shape[axis + 1 :])
        return _core.index_select(input, axis, indices.reshape(-1)).reshape(shape)
    parts = [_gathered(part, index, axis - 1, batch_dims - 1) for part, index in zip(_core.unbind(input), _core.unbind(indices))]
    return _core.stack(parts)


def _one_hot(indices, depth, on_value, off_value, axis):
    is_place = _core.eq(_core.unsqueeze(indices, -1), _core.arange(int(_number(depth)), dtype=core_dtype(indices)))
    on, off = (value if isinstance(value, Base) else _core.tensor(value) for value in (on_value, off_value))
    return _core.where(is_place, on, off.to(on.dtype)).moveaxis(-1, axis)


def _scattered(input, indices, updates, axis, reduction):
    if reduction not in ("none", "add"):
        raise ValueError(f"tensor_scatter_elements: reduction must be 'none' or 'add', not {reduction!r}")
    return (_core.scatter if reduction == "none" else _core.scatter_add)(input, axis, _int64(indices), updates)


FUNCTIONS = taken(_SAME, _core) | adapted(_ADAPTED, _core)
