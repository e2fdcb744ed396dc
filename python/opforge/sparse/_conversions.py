"""Rules that make another tensor of the same numbers: copies, dtypes, layouts."""

from __future__ import annotations

from .. import _core
from .._tensors.typed import type_name
from ._calls import rule
from ._coo import SparseTensor, coo, like

_DTYPES = "bfloat16 bool byte cdouble cfloat char double float half int long short".split()


def _converted(name):
    def convert(input, *args, **kwargs):
        elements = getattr(input._elements, name)(*args, **kwargs)
        return input if elements is input._elements else like(input, elements)

    convert.__name__ = name
    return convert


for _name in (*_DTYPES, "cpu", "cuda"):
    rule(_name)(_converted(_name))


@rule("to")
def to(input, *args, **kwargs):
    """Another dtype or device; `to(other)` takes those of another tensor."""
    args = tuple(arg._elements if isinstance(arg, SparseTensor) else arg for arg in args)
    if not isinstance(input, SparseTensor):
        return input.to(*args, **kwargs)
    elements = input._elements.to(*args, **kwargs)
    return input if elements is input._elements else like(input, elements)


@rule("type")
def type_(input, dtype=None, non_blocking=False):
    """The name of the tensor's type, or another dtype."""
    if dtype is not None:
        return like(input, input._elements.type(dtype))
    return type_name(input._elements).replace("torch.", "torch.sparse.", 1)


@rule("type_as")
def type_as(input, other):
    """The tensor in the other's dtype."""
    return input.to(other.dtype)


@rule("clone")
def clone(input, *, memory_format=None):
    """A copy of indices and values, which gradients flow through."""
    return coo(input._places.clone(), input._elements.clone(), input._sizes, input._coalesced)


@rule("detach")
def detach(input):
    """The same numbers, in the same memory, without history."""
    return like(input, input._elements.detach())


@rule("detach_")
def detach_(input):
    """Drops the history."""
    input._elements = input._elements.detach()
    return input


@rule("copy_")
def copy_(input, src, non_blocking=False):
    """Becomes a copy of another sparse tensor."""
    if not isinstance(input, SparseTensor) or not isinstance(src, SparseTensor):
        kinds = f"Found self type = {_kind(input)} and src type = {_kind(src)}"
        raise _core.ArgumentError(f"copy_() between dense and sparse Tensors is not implemented! {kinds}")
    if input._sizes != src._sizes:
        raise _core.ArgumentError(f"copy_: sparse tensors of one shape expected, got {input._sizes} and {src._sizes}")
    if _core.is_grad_enabled() and input.requires_grad and input.is_leaf:
        raise _core.ArgumentError("a leaf Variable that requires grad is being used in an in-place operation.")
    return input._become(coo(src._places.clone(), src._elements.to(input.dtype, copy=True), src._sizes, src._coalesced))


def _kind(tensor):
    return "sparse" if isinstance(tensor, SparseTensor) else "dense"


@rule("zeros_like", "empty_like")
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """A tensor of the same layout with no values."""
    device = input.device if device is None else device
    return empty(input._sizes, input.sparse_dim(), input.dtype if dtype is None else dtype, device).requires_grad_(requires_grad)


@rule("zero")
def zero(input):
    """No values: what `zero_` leaves."""
    return empty(input._sizes, input.sparse_dim(), input.dtype, input.device)


def empty(sizes, sparse_dim, dtype, device=None):
    """A sparse tensor without values."""
    elements = _core.zeros((0, *sizes[sparse_dim:]), dtype=dtype, device=device)
    return coo(_core.zeros((sparse_dim, 0), dtype=_core.int64, device=elements.device), elements, sizes, True)


def _of_one(name):
    def convert(input):
        if input.numel() != 1:
            raise _core.ArgumentError(f"{name}: a Tensor with {input.numel()} elements cannot be converted to Scalar; to_dense() has them all")
        return getattr(input.to_dense(), name)()

    return convert


for _name in ("item", "__float__", "__int__", "__bool__", "__index__", "__complex__"):
    rule(_name)(_of_one(_name))


@rule("numpy", "__array__")
def numpy(input, *args, **kwargs):
    """An error, as in PyTorch."""
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
