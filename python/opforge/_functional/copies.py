"""`*_copy`: what the view of this name shows, in memory of its own; and the views that PyTorch calls unsafe."""

from __future__ import annotations

import functools

from .. import _core as _C
from .._calls.arguments import dim_from_0, name_arguments
from .._calls.outputs import takes_out


def _copies(view):
    """The function that gives the elements of each tensor that `view` shows in new memory, one after the other."""

    @takes_out
    @functools.wraps(view)
    def copy(*args, **options):
        shown = view(*args, **options)
        return tuple(map(_copied, shown)) if isinstance(shown, (tuple, list)) else _copied(shown)

    return copy


def _copied(view):
    return view.clone() if view.is_contiguous() else view.contiguous()


@_copies
def alias_copy(input):
    """A copy."""
    return input.view_as(input)


@_copies
def as_strided_copy(input, size, stride, storage_offset=None):
    """A copy of what `as_strided` shows."""
    return input.as_strided(size, stride, storage_offset)


@_copies
def detach_copy(input):
    """A copy without history."""
    return input.detach()


@_copies
def diagonal_copy(input, offset=0, dim1=0, dim2=1):
    """A copy of what `diagonal` shows."""
    return input.diagonal(offset, dim1, dim2)


@_copies
def expand_copy(input, size, *, implicit=False):
    """A copy of what `expand` shows."""
    return input.expand(size)


@_copies
def permute_copy(input, dims):
    """A copy of what `permute` shows."""
    return input.permute(dims)


@_copies
def select_copy(input, dim, index):
    """A copy of what `select` shows."""
    return input.select(dim, index)


@_copies
def slice_copy(input, dim=0, start=None, end=None, step=1):
    """A copy of every `step`-th slice along `dim` from `start` to `end`."""
    return _sliced(input, dim, start, end, step)


def _sliced(input, dim, start, end, step):
    return input[(slice(None),) * dim_from_0(dim, input.dim()) + (slice(start, end, step),)]


def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """What `slice_scatter` changes undone: the tensor of `src`'s shape whose slice is `input`, in the same memory."""
    offset = src.storage_offset() - _sliced(src, dim, start, end, step).storage_offset()
    return input.as_strided(src.shape, src.stride(), input.storage_offset() + offset)


@_copies
def split_copy(input, split_size, dim=0):
    """Copies of what `split` shows."""
    return input.split(split_size, dim)


@_copies
def split_with_sizes_copy(input, split_sizes, dim=0):
    """Copies of what `split` shows."""
    return input.split(list(split_sizes), dim)


@_copies
def squeeze_copy(input, *dim):
    """A copy of what `squeeze` shows."""
    return input.squeeze(*dim)


@_copies
def t_copy(input):
    """A copy of what `t` shows."""
    return input.t()


@_copies
def transpose_copy(input, dim0, dim1):
    """A copy of what `transpose` shows."""
    return input.transpose(dim0, dim1)


@_copies
def unbind_copy(input, dim=0):
    """Copies of what `unbind` shows."""
    return input.unbind(dim)


@_copies
def unfold_copy(input, dimension, size, step):
    """A copy of what `Tensor.unfold` shows."""
    return input.unfold(dimension, size, step)


@_copies
def unsqueeze_copy(input, dim):
    """A copy of what `unsqueeze` shows."""
    return input.unsqueeze(dim)


@_copies
def view_copy(input, size):
    """A copy of what `view` shows: of a shape or a dtype."""
    return input.view(size)


@_copies
def view_as_real_copy(input):
    """A copy of what `view_as_real` shows."""
    return _C.view_as_real(input)


@_copies
def view_as_complex_copy(input):
    """A copy of what `view_as_complex` shows."""
    return _C.view_as_complex(input)


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


name_arguments(globals())
