"""Functions of elements, reductions and products."""

from __future__ import annotations

from .... import _core
from ... import operators
from ...adapters import adapted, taken
from ...operators import Base, comparison, core_dtype

# The same name, arguments and meaning in both (`axis`, `keepdims` and `keep_dims` are understood everywhere).
_SAME = """
    acos acosh addbmm addmm addmv all angle any arccos arccosh arcsinh arctan arctan2 arctanh argmax asin asinh atan atan2 atanh bincount
    bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clamp conj cos cosh cross cummax cummin det diagonal digamma div divide
    erf erfc erfinv exp exp2 expm1 float_power floor floor_divide fmax fmin fmod gcd ger heaviside histc hypot i0 igamma igammac imag inner inverse
    is_complex is_floating_point isclose isfinite isinf isnan isneginf isposinf isreal kron lcm lerp lgamma log log10 log1p log2 logaddexp
    logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp matmul matrix_exp matrix_power maximum minimum mm mul
    multiply mvlgamma nan_to_num nanmean nansum nanquantile neg negative nextafter numel outer polar polygamma positive quantile real reciprocal
    remainder renorm rsqrt sgn sigmoid sign signbit sin sinc sinh slogdet square tan tanh trace trunc view_as_real xlogy
"""
_COMPARISONS = {"eq": "eq", "equal": "eq", "ne": "ne", "not_equal": "ne", "lt": "lt", "less": "lt", "le": "le", "less_equal": "le"}
_COMPARISONS |= {"gt": "gt", "greater": "gt", "ge": "ge", "greater_equal": "ge"}
# What opforge has under another name, or with other names, places or defaults of arguments.
_ADAPTED = {
    **{name: comparison(getattr(_core, function)) for name, function in _COMPARISONS.items()},
    "abs": lambda input: operators.absolute(input),
    "absolute": lambda input: operators.absolute(input),
    "add": lambda input, other: operators.add(input, other),
    "addcdiv": lambda input, tensor1, tensor2, value=1: _core.addcdiv(input, tensor1, tensor2, value=value),
    "addcmul": lambda input, tensor1, tensor2, value=1: _core.addcmul(input, tensor1, tensor2, value=value),
    "addn": lambda x: _sum_of(x),
    "addr": lambda x, vec1, vec2, *, beta=1, alpha=1: _core.addr(x, vec1, vec2, beta=beta, alpha=alpha),
    "amax": lambda input, axis=None, keepdims=False, *, initial=None, where=None: operators.reduced(_core.amax, input, axis, keepdims, initial, where),
    "amin": lambda input, axis=None, keepdims=False, *, initial=None, where=None: operators.reduced(_core.amin, input, axis, keepdims, initial, where),
    "arcsin": lambda x: _core.asin(x),
    "argmin": lambda input, axis=None, keepdims=False: Base.to(_core.argmin(input, axis, keepdims), _core.int32),
    "baddbmm": lambda input, batch1, batch2, beta=1, alpha=1: _core.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha),
    "bmm": lambda input_x, mat2: _core.matmul(input_x, mat2),
    "batch_dot": lambda x1, x2, axes=None: _batch_dot(x1, x2, axes),
    "cdist": lambda x1, x2, p=2.0: _core.cdist(x1, x2, p),
    "cholesky": lambda input_x, upper=False: _core.cholesky(input_x, upper=upper),
    "copysign": lambda x, other: _core.copysign(x, other),
    "count_nonzero": lambda x, axis=(), keep_dims=False, dtype=_core.int32: _core.sum(_core.ne(x, 0), None if axis == () else axis, keep_dims, dtype=dtype),
    "cumprod": lambda input, dim, dtype=None: _core.cumprod(input, dim, dtype=dtype),
    "cumsum": lambda x, axis, dtype=None: operators.cumsum(x, axis, dtype),
    "deg2rad": lambda x: _core.deg2rad(x),
    "dist": lambda input, other, p=2: _core.dist(input, other, p),
    "dot": lambda input, other: _dot(input, other),
    "floor_div": lambda x, y: _core.floor_divide(x, y),
    "floor_mod": lambda x, y: _core.remainder(x, y),
    "frac": lambda x: _core.frac(x),
    "inv": lambda x: _core.reciprocal(x),
    "ldexp": lambda x, other: _core.ldexp(x, other),
    "linspace": lambda start, end, steps: _core.linspace(start, end, steps),
    "max": lambda input, axis=None, keepdims=False, *, initial=None, where=None: _extreme(_core.max, _core.amax, input, axis, keepdims, initial, where),
    "mean": lambda x, axis=None, keep_dims=False: operators.mean(x, axis, keep_dims),
    "median": lambda input, axis=-1, keepdims=False: tuple(_core.median(input, axis, keepdims)),
    "min": lambda input, axis=None, keepdims=False, *, initial=None, where=None: _extreme(_core.min, _core.amin, input, axis, keepdims, initial, where),
    "mod": lambda x, y: _core.remainder(x, y),
    "mv": lambda mat, vec: _core.mv(mat, vec),
    "norm": lambda A, ord=None, dim=None, keepdim=False, *, dtype=None: _core.linalg.norm(A, ord, dim, keepdim, dtype=dtype),
    "pow": lambda input, exponent: operators.power(input, exponent),
    "prod": lambda input, axis=None, keep_dims=False, dtype=None: _core.prod(input, axis, keep_dims, dtype=dtype),
    "rad2deg": lambda x: _core.rad2deg(x),
    "reduce_max": lambda x, axis=(), keep_dims=False: _core.amax(x, _axes(x, axis), keep_dims),
    "reduce_mean": lambda x, axis=(), keep_dims=False: operators.mean(x, _axes(x, axis), keep_dims),
    "reduce_min": lambda x, axis=(), keep_dims=False: _core.amin(x, _axes(x, axis), keep_dims),
    "reduce_sum": lambda x, axis=(), keep_dims=False: _core.sum(x, _axes(x, axis), keep_dims, dtype=core_dtype(x)),
    "round": lambda input, *, decimals=0: _core.round(input, decimals=decimals),
    "sqrt": lambda x: _core.sqrt(x),
    "square_sum_all": lambda x, y: (_core.sum(x * x), _core.sum(y * y)),
    "squared_difference": lambda x, y: _core.square(_core.sub(x, y)),
    "std": lambda input, axis=None, ddof=0, keepdims=False: operators.deviation(_core.std, input, axis, ddof, keepdims),
    "std_mean": lambda input, axis=None, ddof=0, keepdims=False: _with_mean(_core.std, input, axis, ddof, keepdims),
    "sub": lambda input, other: operators.sub(input, other),
    "subtract": lambda input, other, *, alpha=1: _core.sub(input, other, alpha=alpha),
    "sum": lambda input, dim=None, keepdim=False, *, dtype=None: _core.sum(input, dim, keepdim, dtype=dtype),
    "tensor_add": lambda input, other: operators.add(input, other),
    "tensor_div": lambda x, y: operators.real_div(x, y),
    "tensor_mul": lambda input, other: _core.mul(input, other),
    "tensor_pow": lambda input, exponent: operators.power(input, exponent),
    "tensor_sub": lambda input, other: operators.sub(input, other),
    "true_divide": lambda dividend, divisor: _core.div(dividend, divisor),
    "var": lambda input, axis=None, ddof=0, keepdims=False: operators.deviation(_core.var, input, axis, ddof, keepdims),
    "var_mean": lambda input, axis=None, ddof=0, keepdims=False: _with_mean(_core.var, input, axis, ddof, keepdims),
    "xdivy": lambda x, y: _core.where(_core.eq(x, 0), _core.zeros_like(x), _core.div(x, y)),
    "div_no_nan": lambda x, y: _core.where(_core.eq(y, 0), _core.zeros_like(x), _core.div(x, y)),
}


def _axes(x, axis):
    """All axes for None and ()."""
    axes = range(x.ndim) if axis is None or axis == () else axis
    return (axes,) if isinstance(axes, int) else tuple(axes)


def _extreme(with_indices, alone, input, axis, keepdims, initial, where):
    """The extreme elements along an axis and their indices; without an axis that of all, and 0."""
    if axis is None:
        return operators.reduced(alone, input, None, keepdims, initial, where), _core.tensor(0)
    values, indices = with_indices(input, axis, keepdims)
    return (values if initial is None and where is None else operators.reduced(alone, input, axis, keepdims, initial, where)), indices


def _with_mean(function, input, axis, ddof, keepdims):
    return operators.deviation(function, input, axis, ddof, keepdims), _core.mean(input, axis, keepdims)


def _sum_of(tensors):
    total = tensors[0] if isinstance(tensors, (tuple, list)) else tensors
    for tensor in tensors[1:] if isinstance(tensors, (tuple, list)) else ():
        total = _core.add(total, tensor)
    return total


def _dot(input, other):
    """The last axis of `input` times the last but one of `other`, for every pair of the other axes."""
    if input.ndim == 1 and other.ndim == 1:
        return _core.dot(input, other)
    return _core.tensordot(input, _core.movedim(other, -2, 0) if other.ndim > 2 else other, 1)


def _batch_dot(x1, x2, axes):
    if axes not in (None, 1, (2, 1), [2, 1]) or x1.ndim != 3 or x2.ndim != 3:
        raise NotImplementedError("batch_dot: other axes than the last and the last but one of batches of matrices")
    return _core.matmul(x1, x2)


FUNCTIONS = taken(_SAME, _core) | adapted(_ADAPTED, _core)
