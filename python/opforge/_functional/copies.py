"""`*_copy`: what the view of this name shows, in memory of its own; and the views that PyTorch calls unsafe."""

from __future__ import annotations

from .. import _core as _C


def _copied(view):
    """A tensor's elements, or those of each tensor of a tuple, in new memory, one after the other."""
    if isinstance(view, (tuple, list)):
        return tuple(map(_copied, view))
    return view.clone() if view.is_contiguous() else view.contiguous()


def alias_copy(input):
    """A copy."""
    return _copied(input)


def as_strided_copy(input, size, stride, storage_offset=None):
    """A copy of what `as_strided` shows."""
    return _copied(input.as_strided(size, stride, storage_offset))


def detach_copy(input):
    """A copy without history."""
    return _copied(input.detach())


def diagonal_copy(input, offset=0, dim1=0, dim2=1):
    """A copy of what `diagonal` shows."""
    return _copied(input.diagonal(offset, dim1, dim2))


def expand_copy(input, size, *, implicit=False):
    """A copy of what `expand` shows."""
    return _copied(input.expand(size))


def permute_copy(input, dims):
    """A copy of what `permute` shows."""
    return _copied(input.permute(dims))


def select_copy(input, dim, index):
    """A copy of what `select` shows."""
    return _copied(input.select(dim, index))


def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of every `step`-th slice along `dim` from `start` to `end`."""
    return _copied(_sliced(input, dim, start, end, step))


def _sliced(input, dim, start, end, step):
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {dim})")
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """What `slice_scatter` changes undone: the tensor of `src`'s shape whose slice is `input`, in the same memory."""
    offset = src.storage_offset() - _sliced(src, dim, start, end, step).storage_offset()
    return input.as_strided(src.shape, src.stride(), input.storage_offset() + offset)


def split_copy(input, split_size, dim=0):
    """Copies of what `split` shows."""
    return _copied(input.split(split_size, dim))


def split_with_sizes_copy(input, split_sizes, dim=0):
    """Copies of what `split` shows."""
    return _copied(input.split(list(split_sizes), dim))


def squeeze_copy(input, *dim):
    """A copy of what `squeeze` shows."""
    return _copied(input.squeeze(*dim))


def t_copy(input):
    """A copy of what `t` shows."""
    return _copied(input.t())


def transpose_copy(input, dim0, dim1):
    """A copy of what `transpose` shows."""
    return _copied(input.transpose(dim0, dim1))


def unbind_copy(input, dim=0):
    """Copies of what `unbind` shows."""
    return _copied(input.unbind(dim))


def unfold_copy(input, dimension, size, step):
    """A copy of what `Tensor.unfold` shows."""
    return _copied(input.unfold(dimension, size, step))


def unsqueeze_copy(input, dim):
    """A copy of what `unsqueeze` shows."""
    return _copied(input.unsqueeze(dim))


def view_copy(input, size):
    """A copy of what `view` shows: of a shape or a dtype."""
    return _copied(input.view(size))


def view_as_real_copy(input):
    """A copy of what `view_as_real` shows."""
    return _copied(_C.view_as_real(input))


def view_as_complex_copy(input):
    """A copy of what `view_as_complex` shows."""
    return _copied(_C.view_as_complex(input))


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """`input` with `src` in the places that `as_strided` of a copy of it shows."""
    offset = 0 if storage_offset is None else storage_offset
    # Gradients go the same way: what is written has those of `src`, what stays those of `input`.
    place = _C.arange(input.numel(), device=input.device).reshape(input.shape)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if min(size, default=1) and last >= input.numel():
        raise RuntimeError(f"as_strided_scatter: sizes {list(size)} and strides {list(stride)} from {offset} exceed {input.numel()} elements")
    written = place.as_strided(size, stride, offset).reshape(-1)
    return input.reshape(-1).index_copy(0, written, src.reshape(-1)).reshape(input.shape)


def unsafe_chunk(input, chunks, dim=0):
    """[`chunk`]: views, which may be changed in place."""
    return input.chunk(chunks, dim)


def unsafe_split(input, split_size, dim=0):
    """[`split`]: views, which may be changed in place."""
    return input.split(split_size, dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """[`split`]: views, which may be changed in place."""
    return input.split(list(split_sizes), dim)
