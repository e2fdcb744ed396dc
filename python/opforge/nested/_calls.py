"""Calls with nested tensors among their arguments: made for each part, with dimensions counted without the first."""

from __future__ import annotations

from .. import _core
from .._calls.arguments import dim_from_0

# Functions of elements: a dense tensor with as many dimensions as the nested one has an entry for each part, or one for all.
_ELEMENTWISE = frozenset("""
abs absolute add addcdiv addcmul atan atan2 bfloat16 bool ceil celu clamp clamp_max clamp_min clone contiguous cos cosh cpu detach div divide double dropout elu
empty_like eq erf erfc exp exp2 expm1 float floor floor_divide fmod full_like ge gelu gt half hardsigmoid hardswish hardtanh int isfinite isinf isnan le
leaky_relu lerp log log10 log1p log2 logical_and logical_not logical_or logical_xor logsigmoid long lt masked_fill maximum minimum mish mul multiply nan_to_num
ne neg negative ones_like pow rand_like randn_like reciprocal relu relu6 remainder round rsqrt rsub sgn sigmoid sign silu sin sinh softplus softsign sqrt square
sub subtract tan tanh threshold to true_divide trunc type where zeros_like
__rfloordiv__ __rmod__ __rpow__ __rsub__ __rtruediv__
""".split())
# Products: as above from 3 dimensions on, where the first is that of a batch.
_PRODUCTS = frozenset("baddbmm bmm matmul scaled_dot_product_attention".split())
# Functions of the last dimensions, whose dense tensors are parameters: the same for all parts.
_LAYERS = frozenset("embedding layer_norm linear normalize rms_norm".split())
# Their first argument beside tensors is a dimension.
_ALONG = frozenset("softmax log_softmax softmin cumsum cumprod flip squeeze unsqueeze chunk split cat".split())
_REDUCTIONS = frozenset("sum mean prod amax amin max min var std all any".split())
_TRANSPOSES = frozenset("transpose swapaxes swapdims".split())


def run(func, args, kwargs):
    """The result of a call with a nested tensor among its arguments."""
    name = getattr(func, "__name__", repr(func))
    if name in _ELEMENTWISE | _PRODUCTS | _LAYERS:
        return _each(func, args, kwargs, 1 if name in _ELEMENTWISE else 3 if name in _PRODUCTS else None)
    if name in _ALONG:
        return _each(func, *_shifted(args, kwargs, name))
    if name in _REDUCTIONS:
        return _reduced(func, name, args, kwargs)
    if name in _TRANSPOSES:
        input, *dims = args
        dims = [_part_dim(input, dim, name) for dim in (*dims, *kwargs.values())]
        return _each(func, (input, *dims), {})
    if name in ("reshape", "view"):
        return _reshaped(func, name, args)
    if name == "select":
        return _selected(*args, **kwargs)
    if name == "__get__":
        name = getattr(getattr(func.__self__, "fget", func.__self__), "__name__", "attribute")
    raise _core.UnsupportedError(f"{name}: not there for nested tensors; unbind() gives the parts, to_padded_tensor() a dense tensor")


def _first(args):
    """The first nested tensor among the arguments, in lists too."""
    from ._tensor import NestedTensor

    for arg in args:
        found = arg if isinstance(arg, NestedTensor) else _first(arg) if isinstance(arg, (list, tuple)) else None
        if found is not None:
            return found
    return None


def _of_part(arg, like, i, batched):
    """What part `i` has of an argument: a nested tensor's part, and of a dense tensor, if it has `batched` dimensions or more (None: never), its entry."""
    from ._tensor import NestedTensor

    if isinstance(arg, (list, tuple)):
        return type(arg)(_of_part(item, like, i, batched) for item in arg)
    if isinstance(arg, NestedTensor):
        if len(arg) != len(like):
            raise _core.ShapeError(f"nested tensors of one number of parts expected, got {len(like)} and {len(arg)}")
        return arg._parts[i]
    if not isinstance(arg, _core.Tensor) or batched is None or arg.dim() < max(batched, like.dim()):
        return arg
    if arg.dim() > like.dim() or arg.shape[0] not in (1, len(like)):
        raise _core.ShapeError(f"a dense tensor that goes with {len(like)} parts of {like.dim() - 1} dimensions expected, got shape {tuple(arg.shape)}")
    return arg[i if arg.shape[0] > 1 else 0]


def _each(func, args, kwargs, batched=None):
    """The call for each part; results that are several are several nested tensors."""
    from ._tensor import nest

    like = _first((*args, *kwargs.values()))
    if not len(like):
        raise _core.ArgumentError(f"{func.__name__}: a nested tensor with parts expected, got one without any")
    results = []
    for i in range(len(like)):
        named = {name: _of_part(value, like, i, batched) for name, value in kwargs.items()}
        results.append(func(*(_of_part(arg, like, i, batched) for arg in args), **named))
    if isinstance(results[0], (tuple, list)):
        return tuple(nest(column, like._layout) for column in zip(*results))
    return nest(results, like._layout)


def _part_dim(input, dim, name, more=0):
    """A dimension of a nested tensor as one of its parts, which have `more` new ones."""
    place = dim_from_0(dim, input.dim() + more)
    if not place:
        raise _core.UnsupportedError(f"{name}: along dimension 0 of a nested tensor, which is that of its parts")
    return place - 1


def _shifted(args, kwargs, name):
    """The arguments with the dimension counted in parts."""
    input, more = _first(args), name == "unsqueeze"
    args, kwargs = list(args), dict(kwargs)
    at = 2 if name in ("chunk", "split") else 1
    if "dim" in kwargs and kwargs["dim"] is not None:
        kwargs["dim"] = _part_dim(input, kwargs["dim"], name, more)
    elif len(args) > at and isinstance(args[at], int):
        args[at] = _part_dim(input, args[at], name, more)
    else:
        raise _core.UnsupportedError(f"{name}: of nested tensors with one dimension named")
    return args, kwargs


def _reduced(func, name, args, kwargs):
    """Over all elements, or over dimensions of the parts; dense where all results are alike as parts of the layout `jagged` then are."""
    from .._tensors.layouts import jagged

    input, *rest = args
    dim = rest.pop(0) if rest else kwargs.pop("dim", None)
    if dim is None:
        return func(_core.cat([part.reshape(-1) for part in input._parts]), *rest, **kwargs)
    if isinstance(dim, _core.Tensor):
        raise _core.UnsupportedError(f"{name}: of nested tensors along a dimension only")
    dims = [_part_dim(input, d, name) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    result = _each(func, (input, dims if isinstance(dim, (tuple, list)) else dims[0], *rest), kwargs)
    if input._layout is jagged and 0 in dims and not isinstance(result, tuple):
        return _core.stack(result._parts)
    return result


def _reshaped(func, name, args):
    """Other sizes: the first is the number of parts, -1 what a part has there, or what is left."""
    input, *sizes = args
    sizes = list(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if not sizes or sizes[0] not in (-1, len(input)):
        raise _core.ShapeError(f"{name}: a nested tensor's first dimension of size {len(input)} expected, got {sizes[:1]}")
    return _each(lambda part: func(part, sizes[1:]), (input,), {})


def _selected(input, dim, index):
    """A part, or the entry of each part."""
    if dim_from_0(dim, input.dim()) == 0:
        return input[index]
    return _each(_core.Tensor.select, (input, _part_dim(input, dim, "select"), index), {})
