"""Transforms of vectors to the simplex and to triangular matrices, and of matrices."""

from __future__ import annotations

from ... import _core as _C
from ..._tensors.size import Size
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .base import WithoutParameters
from .elementwise import log_tanh_slope


class SoftmaxTransform(WithoutParameters):
    """`y = softmax(x)` along the last dimension, and `log(y)` as one of the inverses. Not bijective, so it has no Jacobian's determinant."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        return _at_least(shape, 1)

    inverse_shape = forward_shape


def _at_least(shape, dims):
    if len(shape) < dims:
        raise ValueError(f"a shape of {len(shape)} dimensions, expected at least {dims}")
    return shape


class StickBreakingTransform(WithoutParameters):
    """From K - 1 unbounded numbers to the simplex of K: each takes a share of what the ones before left of a stick of length 1.

    The shares are `z = sigmoid(x - log k)`, where `k` parts are to come, so that zeros give equal parts.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _shares(x):
        """`logit(z)` of the shares."""
        return x - _to_come(x).log()

    def _call(self, x):
        shares = self._shares(x)
        # In logarithms, log(1 - z) = logsigmoid(-logit(z)), so that small rests keep their digits.
        left = _C.nn.logsigmoid(-shares).cumsum(-1).exp()
        one = _C.ones_like(left[..., :1])
        return _C.cat([shares.sigmoid(), one], -1) * _C.cat([one, left], -1)

    def _inverse(self, y):
        taken = y[..., :-1]
        # What is left is 0 after rounding at times; a logarithm is taken of it.
        left = (1 - taken.cumsum(-1)).clamp(min=_C.finfo(y.dtype).tiny)
        return taken.log() - left.log() + _to_come(taken).log()

    def log_abs_det_jacobian(self, x, y):
        # The Jacobian is triangular: dy/dx = y (1 - z) on its diagonal.
        return (y[..., :-1].log() + _C.nn.logsigmoid(-self._shares(x))).sum(-1)

    def forward_shape(self, shape):
        _at_least(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        _at_least(shape, 1)
        return Size(shape[:-1]) + (shape[-1] - 1,)


def _to_come(x):
    """For each element along the last dimension, how many parts of the stick come after it."""
    return _C.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)


class CorrCholeskyTransform(WithoutParameters):
    """From D (D - 1) / 2 unbounded numbers to the Cholesky factor `L` of a correlation matrix of D variables.

    `tanh(x)` are partial correlations `r`, row by row, and `L[i, j] = r[i, j] * sqrt(Π (1 - r[i, k]²) over k < j)` (Lewandowski, Kurowicka and
    Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = vec_to_tril_matrix(x, diag=-1)
        logs = log_tanh_slope(x)
        rest = ((logs.cumsum(-1) - logs) / 2).exp()
        return (x.tanh() + _C.eye(x.shape[-1], dtype=x.dtype, device=x.device)) * rest

    def _inverse(self, y):
        squares = y * y
        rest = 1 - (squares.cumsum(-1) - squares)
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return r.atanh()

    def log_abs_det_jacobian(self, x, y):
        # Triangular too: each 1 - r[i, k]² stands in dr/dx once, and under the root of every later place up to the diagonal.
        n = y.shape[-1]
        rows, columns = _C.tril_indices(n, n, -1)
        return (log_tanh_slope(x) * ((rows - columns + 1).to(x.dtype) / 2)).sum(-1)

    def forward_shape(self, shape):
        _at_least(shape, 1)
        length = shape[-1]
        n = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != length:
            raise ValueError(f"CorrCholeskyTransform: {length} elements, expected D (D - 1) / 2: those below the diagonal of a matrix")
        return Size(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        _at_least(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: matrices of {shape[-2]} x {shape[-1]}, expected square ones")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(WithoutParameters):
    """Square matrices to lower triangular ones with a positive diagonal, by `exp` of it. What is above the diagonal is left out."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(WithoutParameters):
    """Square matrices to positive definite ones: `L Lᵀ` of what `LowerCholeskyTransform` gives."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(_C.linalg.cholesky(y))
