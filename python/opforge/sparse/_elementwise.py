"""Rules of functions of elements that give 0 where nothing is there."""

from __future__ import annotations

from numbers import Number

from .. import _core
from .._calls.functions import broadcast_shapes
from ._calls import rule
from ._coo import SparseTensor, coo, flat, like

# f(x + y) = f(x) + f(y): values at one place need not be added first.
_LINEAR = "neg negative positive deg2rad rad2deg conj conj_physical resolve_conj resolve_neg"
_UNARY = """
abs absolute angle arcsin arcsinh arctan arctanh asin asinh atan atanh ceil erf erfinv expm1 fix floor frac isinf isnan isneginf isposinf log1p nan_to_num
relu round sgn sign signbit sin sinh sqrt square tan tanh trunc
"""


def _of_values(name, linear):
    def apply(input, *args, **kwargs):
        tensor = input if linear else input.coalesce()
        elements = tensor._elements
        # `relu` is also a function of `nn.functional`; methods have them all.
        return like(tensor, getattr(elements, name)(*args, **kwargs))

    apply.__name__ = name
    return apply


for _name in _LINEAR.split():
    rule(_name)(_of_values(_name, True))
for _name in _UNARY.split():
    rule(_name)(_of_values(_name, False))


def _is_number(value):
    """Whether it is a number or a dense tensor of one element without dimensions."""
    return isinstance(value, Number) or isinstance(value, _core.Tensor) and not isinstance(value, SparseTensor) and value.dim() == 0


@rule("mul", "multiply")
def mul(input, other):
    """Products: by a number, and at the places of a sparse tensor by a tensor of its shape, dense or sparse."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if _is_number(other):
        return like(input, input._elements * other)
    if isinstance(other, SparseTensor):
        return _intersection(input, other)
    return like(input, input._elements * taken(other, input))


def taken(dense, tensor):
    """The elements of a dense tensor, which is broadcast, at the places of a sparse one."""
    if tuple(broadcast_shapes(dense.shape, tensor.shape)) != tuple(tensor.shape):
        raise _core.ArgumentError(f"a dense tensor of shape {tuple(dense.shape)} cannot be broadcast to that of the sparse one, {tuple(tensor.shape)}")
    places = tuple(tensor._places.unbind())
    return dense.expand(tensor._sizes)[places] if places else dense.expand(tensor._sizes).expand(tensor._elements.shape)


def _check_alike(name, input, other):
    if input._sizes != other._sizes or input.sparse_dim() != other.sparse_dim():
        raise _core.ArgumentError(
            f"{name}: sparse tensors of one shape and one number of sparse dimensions expected, got {input._sizes} with {input.sparse_dim()} and "
            f"{other._sizes} with {other.sparse_dim()}"
        )


def _intersection(input, other):
    """The products at the places that both have."""
    _check_alike("mul", input, other)
    input, other = input.coalesce(), other.coalesce()
    if not other._nnz():
        return like(other, other._elements.to(_core.promote_types(input.dtype, other.dtype)))
    keys, known = flat(input), flat(other)
    found = _core.searchsorted(known, keys).clamp(max=len(known) - 1)
    both = (known[found] == keys).nonzero().squeeze(1)
    elements = input._elements[both] * other._elements[found[both]]
    return coo(input._places[:, both], elements, input._sizes, True)


@rule("add")
def add(input, other, *, alpha=1):
    """Sums of sparse tensors; a dense tensor plus a sparse one is dense."""
    if not isinstance(other, SparseTensor):
        raise _core.ArgumentError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if isinstance(input, SparseTensor):
        return _union(input, other, alpha)
    if _is_number(input) or tuple(input.shape) != other._sizes:
        sizes = tuple(getattr(input, "shape", ()))
        raise _core.ArgumentError(f"add: a dense tensor of the sparse one's shape {other._sizes} expected, got {sizes}")
    return input.add(other.to_dense(), alpha=alpha)


@rule("sub", "subtract")
def sub(input, other, *, alpha=1):
    """Differences of sparse tensors; a dense tensor minus a sparse one is dense."""
    return add(input, other, alpha=-alpha)


@rule("rsub")
def rsub(input, other, *, alpha=1):
    """`other - alpha input`."""
    return sub(other, input, alpha=alpha)


def _union(input, other, alpha):
    """The values of both, with sums where both are coalesced."""
    _check_alike("add", input, other)
    dtype = _core.promote_types(input.dtype, other.dtype)
    values = other._elements.to(dtype)
    if alpha != 1:
        values = (values * alpha).to(dtype)
    places = _core.cat([input._places, other._places], 1)
    both = coo(places, _core.cat([input._elements.to(dtype), values]), input._sizes)
    return both.coalesce() if input._coalesced and other._coalesced else both


@rule("div", "divide", "true_divide")
def div(input, other, *, rounding_mode=None):
    """Quotients of a sparse tensor by a number."""
    if not isinstance(input, SparseTensor) or not _is_number(other):
        shape = list(getattr(other, "shape", ()))
        raise _core.ArgumentError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)")
    if rounding_mode is None:
        return like(input, input._elements / other)
    tensor = input.coalesce()
    return like(tensor, tensor._elements.div(other, rounding_mode=rounding_mode))


@rule("floor_divide")
def floor_divide(input, other):
    """Quotients by a number, rounded down."""
    return div(input, other, rounding_mode="floor")


@rule("pow", "float_power")
def pow_(input, exponent):
    """A power above 0 of a sparse tensor."""
    if not isinstance(input, SparseTensor) or not isinstance(exponent, Number) or isinstance(exponent, complex) or not exponent > 0:
        raise _core.ArgumentError(f"pow: a sparse tensor to the power of a number above 0 expected, got {exponent!r}")
    tensor = input.coalesce()
    return like(tensor, tensor._elements.pow(exponent))
