"""Methods of tensors that exchange their memory or shape, ask about it, or call a Python function for each element."""

from __future__ import annotations

import math

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._tensors.layouts import creates


def _lengths(sizes):
    return list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)


def _check_no_gradient(name, tensor):
    if tensor.requires_grad:
        raise RuntimeError(f"{name}: a tensor that requires a gradient cannot be changed like this; use detach() or no_grad()")


def resize_(self, *sizes, memory_format=None):
    """Gives the tensor another shape, in row-major order, over the same memory; where that is too small the tensor gets new memory, which begins
    with its elements and goes on with any, and other views of the old memory stay as they are."""
    from .._tensors.layouts import _RANKS

    _check_no_gradient("resize_", self)
    if memory_format in _RANKS:
        raise NotImplementedError(f"resize_: memory_format={memory_format}, expected contiguous_format or preserve_format")
    shape = _lengths(sizes)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_: sizes {shape}, expected 0 or more")
    available = self.untyped_storage().nbytes() // self.element_size() - self.storage_offset()
    need = math.prod(shape)
    if need > available:
        kept = _flat(self, available)
        grown = _C.empty(need, dtype=self.dtype, device=self.device)
        grown[: len(kept)] = kept
        self.data = grown.reshape(shape)
    else:
        self.data = _flat(self, need).reshape(shape)
    return self


def _flat(tensor, count):
    """The first `count` elements of the memory from where a tensor begins."""
    return tensor.detach().as_strided([count], [1], tensor.storage_offset())


def resize_as_(self, the_template, *, memory_format=None):
    """[`resize_`] to another tensor's shape."""
    return resize_(self, list(the_template.shape), memory_format=memory_format)


def resize(self, *sizes):
    """A view of another shape with as many elements; PyTorch's old name of `reshape`."""
    shape = _lengths(sizes)
    if math.prod(shape) != self.numel():
        raise RuntimeError(f"resize: a tensor of {self.numel()} elements cannot be resized to {shape}")
    return self.reshape(shape)


def resize_as(self, tensor):
    """[`resize`] to another tensor's shape."""
    return resize(self, list(tensor.shape))


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Has the tensor show the elements of `source`, in the same memory, or those at these places of its memory; without a source, none."""
    _check_no_gradient("set_", self)
    if source is None:
        source = _C.empty(0, dtype=self.dtype, device=self.device)
    if not isinstance(source, _C.Tensor):
        raise TypeError(f"set_(): source is a {type(source).__name__}, expected a tensor")
    if source.dtype != self.dtype:
        raise RuntimeError(f"set_: source of dtype {source.dtype}, expected {self.dtype}")
    source = source.detach()
    if size is not None:
        steps = [math.prod(size[d + 1 :]) for d in range(len(size))] if stride is None else list(stride)
        source = source.as_strided(list(size), steps, storage_offset)
    self.data = source
    return self


def as_strided_(self, size, stride, storage_offset=None):
    """`as_strided` in place: the tensor shows other places of its memory."""
    _check_no_gradient("as_strided_", self)
    offset = self.storage_offset() if storage_offset is None else storage_offset
    self.data = self.detach().as_strided(list(size), list(stride), offset)
    return self


def is_set_to(self, tensor):
    """Whether both show the same elements of the same memory."""
    same_memory = self.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    return same_memory and (self.shape, self.stride(), self.storage_offset()) == (tensor.shape, tensor.stride(), tensor.storage_offset())


def apply_(self, callable):
    """Replaces each element by what a function of numbers gives for it. Slow: the function runs in Python."""
    return _fill(self, "apply_", map(callable, _numbers(self)))


def map_(self, tensor, callable):
    """Replaces each element by what a function gives for it and the one of another tensor, which is broadcast."""
    return _fill(self, "map_", map(callable, _numbers(self), _numbers(tensor.expand(self.shape))))


def map2_(self, x, y, callable):
    """Replaces each element by what a function gives for it and those of two other tensors, which are broadcast."""
    return _fill(self, "map2_", map(callable, _numbers(self), _numbers(x.expand(self.shape)), _numbers(y.expand(self.shape))))


def _numbers(tensor):
    return tensor.detach().reshape(-1).tolist()


def _fill(tensor, name, values):
    _check_no_gradient(name, tensor)
    return tensor.copy_(_C.tensor(list(values), dtype=tensor.dtype).reshape(tensor.shape))


def cfloat(self, memory_format=None):
    """The tensor in complex64."""
    return self.to(_C.complex64, memory_format=memory_format)


def cdouble(self, memory_format=None):
    """The tensor in complex128."""
    return self.to(_C.complex128, memory_format=memory_format)


def const_data_ptr(self):
    """The address of the first element."""
    return self.data_ptr()


def is_nonzero(self):
    """Whether the only element is not 0."""
    if self.numel() != 1:
        raise RuntimeError(f"Boolean value of Tensor with {self.numel()} values is ambiguous: expected 1")
    return bool(self)


def module_load(self, other, assign=False):
    """What `load_state_dict` puts in this tensor's place for `other`: this tensor with its elements, or, to `assign`, `other` itself."""
    return other.detach() if assign else self.copy_(other).detach()


@creates
def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False):
    """`empty_strided` with this tensor's dtype, unless given."""
    return _C.empty_strided(list(size), list(stride), dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def record_stream(self, stream):
    """Changes nothing: memory is not given away before those who read it have run."""


name_arguments(globals())
