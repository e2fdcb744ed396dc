"""The multivariate normal distribution."""

from __future__ import annotations

import math

from .. import _core as _C
from .._calls.functions import broadcast_shapes
from .._tensors.size import Size
from . import constraints
from .distribution import Distribution, Located, Parametric  # noqa: F401  packages take the former from here
from .utils import _standard_normal, common_batch, lazy_property

__all__ = ["MultivariateNormal"]


class MatrixForms(Parametric):
    """A positive definite matrix that is given as itself, as its inverse or as its Cholesky factor; the other forms are computed when they are
    first asked for, from the factor of what was given, which has no more batch dimensions than that."""

    _constants = ("_unbroadcasted_scale_tril",)

    def _one_matrix(self, covariance_matrix, precision_matrix, scale_tril):
        """The name of the form that is not None, and its matrix; ValueError unless it is one, of two dimensions at least."""
        forms = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = [name for name, value in forms.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified, got {len(given)} of them.")
        name = given[0]
        if forms[name].dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        return name, forms[name]

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        factor = self._unbroadcasted_scale_tril
        return factor.expand(self._batch_shape + factor.shape[-2:])

    @lazy_property
    def covariance_matrix(self):
        """The matrix itself."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self.scale_tril.shape)

    @lazy_property
    def precision_matrix(self):
        """Its inverse."""
        return _C.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self.scale_tril.shape)

    def _half_log_det(self):
        """Half of the logarithm of the covariance's determinant."""
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Located, MatrixForms):
    """Normal vectors of mean `loc` and a covariance that one of the other three parameters says; `scale_tril` is the quickest.

    >>> MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        form, matrix = self._one_matrix(covariance_matrix, precision_matrix, scale_tril)
        n = loc.shape[-1]
        if matrix.shape[-2:] != (n, n):
            raise ValueError(f"MultivariateNormal: {form} of {tuple(matrix.shape[-2:])}, expected {(n, n)}: as loc has {n} elements")
        self.loc, expanded = common_batch((loc, 1), (matrix, 2))
        setattr(self, form, expanded)
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(form, matrix)

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=Size()):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        self._check_value(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det().expand(self._batch_shape)


def factor_of(form, matrix):
    """The lower Cholesky factor of the matrix that is given in this form."""
    if form == "scale_tril":
        return matrix
    return _C.linalg.cholesky(matrix) if form == "covariance_matrix" else _precision_to_scale_tril(matrix)


def _batch_mv(bmat, bvec):
    """Matrices times vectors; both may have batch dimensions."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """`xᵀ (L Lᵀ)⁻¹ x`. Vectors in dimensions before those of the batch of `bL` are columns of one system each."""
    batch = broadcast_shapes(bx.shape[:-1], bL.shape[:-2])
    bx = bx.expand(batch + bx.shape[-1:])
    own = len(batch) - (bL.dim() - 2)
    columns = bx.reshape((batch[:own].numel(),) + bx.shape[own:]).movedim(0, -1)
    solved = _C.linalg.solve_triangular(bL, columns, upper=False)
    return solved.square().sum(-2).movedim(-1, 0).reshape(batch)


def _precision_to_scale_tril(P):
    """The lower Cholesky factor of the inverse: with the factor of the reversed matrix, no inverse is formed."""
    reversed_factor = _C.linalg.cholesky(P.flip((-2, -1)))
    upper = reversed_factor.flip((-2, -1)).mT
    return _C.linalg.solve_triangular(upper, _C.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)
