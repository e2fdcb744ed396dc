"""Methods of tensors that exchange their memory or shape, ask about it, or call a Python function for each element; and small functions that
PyTorch has beside others."""

from __future__ import annotations

import builtins
import math
import warnings
from typing import NamedTuple

from .. import _core as _C
from .._calls.arguments import name_arguments
from .._calls.intercept import shown
from .._calls.outputs import takes_out
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
        steps = [math.prod(size[d + 1 :]) for d in builtins.range(len(size))] if stride is None else list(stride)
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


def float_power_(self, exponent):
    """`float_power` in place: of a tensor of float64, or of complex128 where powers are."""
    result = _C.float_power(self, exponent)
    if result.dtype != self.dtype:
        raise RuntimeError(f"float_power_: the base has dtype {self.dtype}, but the operation's result requires dtype {result.dtype}")
    return self.copy_(result)


def conj_physical_(input):
    """Complex conjugates in place."""
    return input.copy_(input.conj()) if input.is_complex() else input


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


def is_distributed(self):
    """False: no tensor is spread over processes."""
    return False


def module_load(self, other, assign=False):
    """What `load_state_dict` puts in this tensor's place for `other`: this tensor with its elements, or, to `assign`, `other` itself."""
    return other.detach() if assign else self.copy_(other).detach()


@creates
def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False):
    """`empty_strided` with this tensor's dtype, unless given."""
    return _C.empty_strided(list(size), list(stride), dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def record_stream(self, stream):
    """Changes nothing: memory is not given away before those who read it have run."""


@takes_out
def nonzero_static(input, *, size, fill_value=-1):
    """The first `size` rows of `nonzero`, with rows of `fill_value` after them if they are fewer."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size={size}, expected 0 or more")
    found = input.nonzero()[:size]
    return _C.cat([found, found.new_full([size - len(found), input.dim()], fill_value)]) if len(found) < size else found


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_conj(input):
    """False: conjugates are computed."""
    return False


def is_neg(input):
    """False: negatives are computed."""
    return False


def is_inference(input):
    """False: tensors made in `inference_mode` are like others."""
    return False


def get_device(input):
    """The number of the tensor's device: -1 for the CPU."""
    return -1 if input.device.index is None else input.device.index


def put(input, index, source, accumulate=False):
    """The tensor with the elements of `source` at these places of the flattened one, added to what is there if `accumulate`."""
    return input.clone().put_(index, source, accumulate)


def fill(input, value):
    """A tensor of this shape and dtype, full of `value`, a number or a tensor without dimensions."""
    return input.clone().fill_(value)


@creates
def empty_permuted(size, physical_layout, *, dtype=None, device=None, requires_grad=False):
    """A tensor that is not filled, whose dimensions lie in memory in the order `physical_layout`, the slowest first."""
    if sorted(physical_layout) != list(builtins.range(len(size))):
        raise RuntimeError(f"empty_permuted: physical_layout {list(physical_layout)}, expected each dimension of {len(size)} once")
    steps, step = [0] * len(size), 1
    for d in reversed(list(physical_layout)):
        steps[d] = step
        step *= max(size[d], 1)
    return _C.empty_strided(list(size), steps, dtype=dtype, device=device, requires_grad=requires_grad)


@creates
@takes_out
def range(start, end, step=1, *, dtype=None, device=None, requires_grad=False):
    """Numbers from `start` to `end`, which is one of them, by `step`. Deprecated: `arange` stops before its end."""
    warnings.warn("range is deprecated: its end is one of the numbers; use arange", UserWarning, stacklevel=4)
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError(f"range: step={step} from {start} to {end}, expected a step other than 0 in the direction of the end")
    numbers = _C.arange(math.floor((end - start) / step) + 1, dtype=_C.float64, device=device) * step + start
    return numbers.to(dtype or _C.get_default_dtype()).requires_grad_(requires_grad)


class _TriangularSolve(NamedTuple):
    solution: _C.Tensor
    cloned_coefficient: _C.Tensor


@shown
@takes_out
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """`X` with `A X = b`, or `Aᵀ X = b`, for triangular `A`, and a copy of `A`. Deprecated: use `linalg.solve_triangular`."""
    left = A.mT if transpose else A
    solution = _C.linalg.solve_triangular(left, b, upper=upper != transpose, unitriangular=unitriangular)
    return _TriangularSolve(solution, A.clone())


name_arguments(globals())
