"""Parametrizations that are ready to use: orthogonal matrices, weights of norm 1 times a length, weights divided by their greatest singular value."""

from __future__ import annotations

from ... import _core as _C
from ..._calls.arguments import dim_from_0
from ...autograd.grad_mode import no_grad
from ..modules.module import Module
from .parametrize import register_parametrization
from .spectral_norm import default_dim, matrix_of, power_iteration
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _Orthogonal(Module):
    """An orthogonal matrix of any matrix.

    `matrix_exp` and `cayley` map skew-symmetric matrices `A`, `householder` the products of reflections. With a `base` the result is
    `base @ Q` (Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019).
    """

    def __init__(self, orthogonal_map, use_trivialization):
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.register_buffer("base", None)
        self.use_trivialization = use_trivialization

    def forward(self, X):
        wide = X.shape[-2] < X.shape[-1]
        X = X.mT if wide else X
        Q = _reflections(X) if self.orthogonal_map == "householder" else self._of_skew_symmetric(X)
        Q = Q if self.base is None else self.base @ Q
        return Q.mT if wide else Q

    def _of_skew_symmetric(self, X):
        n, k = X.shape[-2:]
        lower = X.tril()
        if k < n:
            lower = _C.cat([lower, lower.new_zeros([*lower.shape[:-1], n - k])], -1)
        A = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            Q = _C.matrix_exp(A)
        else:
            identity = _C.eye(n, dtype=A.dtype, device=A.device)
            Q = _C.linalg.solve(identity - A / 2, identity + A / 2)  # both factors commute
        return Q[..., :k]

    def right_inverse(self, Q):
        if Q.shape[-2] < Q.shape[-1]:
            return self.right_inverse(Q.mT).mT
        if not self.use_trivialization:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
                )
            return _factors_of_reflections(Q)
        n, k = Q.shape[-2:]
        if k < n:
            self.base = _nearest_by_qr(_C.cat([Q, _C.randn([*Q.shape[:-1], n - k], dtype=Q.dtype, device=Q.device)], -1))
        else:
            self.base = Q.clone() if _is_orthogonal(Q) else _nearest_by_qr(Q)
        # What every map takes to the identity: reflections are their own vectors on the diagonal, with the sign -1.
        start = _C.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1)
        return start


def _reflections(X):
    """The first columns of a product of Householder reflections, whose vectors are below the diagonal, times the signs on the diagonal."""
    vectors = X.tril(-1)
    tau = 2 / (1 + (vectors * vectors.conj()).sum(-2))
    Q = _C.linalg.householder_product(vectors, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).real.sign().to(Q.dtype).unsqueeze(-2)


def _factors_of_reflections(Q):
    """What `_reflections` takes for an orthogonal matrix."""
    A, tau = _C.geqrf(Q)
    diagonal = A.diagonal(dim1=-2, dim2=-1)
    signs = diagonal.real.sign().to(A.dtype)
    diagonal.copy_(_C.where(tau == 0, -signs, signs))
    return A


def _nearest_by_qr(X):
    """`Q` of the QR decomposition whose `R` has a positive diagonal."""
    Q, R = _C.linalg.qr(X)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(Q):
    """Whether the columns are orthonormal, up to 10 roundings per row."""
    n, k = Q.shape[-2:]
    identity = _C.eye(k, dtype=Q.dtype, device=Q.device)
    return _C.allclose(Q.mH @ Q, identity, atol=10 * n * _C.finfo(Q.dtype).eps)


def _tensor_of(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, _C.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Has the matrix, or the matrices, `module.name` be orthogonal: orthonormal columns, or rows if it is wider than high. Returns the module.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; without one it is the first for square and complex matrices, and the last
    otherwise. With `use_trivialization` the matrix begins as it is, made orthogonal, and values may be assigned to it.
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    if orthogonal_map == "householder" and weight.is_complex():
        raise ValueError("The householder parametrization does not support complex tensors.")
    return register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization), unsafe=True)


class _WeightNorm(Module):
    """`g v / ‖v‖`."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Has the tensor `module.name` be `g v / ‖v‖` (Salimans and Kingma, 2016): lengths `original0`, one for each index along `dim`, or one if that is
    None, and directions `original1`. State of the old `nn.utils.weight_norm` can be loaded. Returns the module."""
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, *_):
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by an estimate of its greatest singular value; a vector by its length."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim_from_0(dim, weight.dim())
        self.n_power_iterations, self.eps = n_power_iterations, eps
        if weight.dim() > 1:
            matrix = matrix_of(weight.detach(), self.dim)
            left, right = (_C.nn.normalize(matrix.new_empty(n).normal_(), dim=0, eps=eps) for n in matrix.shape)
            left, right = power_iteration(matrix, left, right, 15, eps)
            self.register_buffer("_u", left)
            self.register_buffer("_v", right)

    def forward(self, weight):
        if weight.dim() == 1:
            return _C.nn.normalize(weight, dim=0, eps=self.eps)
        matrix = matrix_of(weight, self.dim)
        if self.training:
            with no_grad():
                left, right = power_iteration(matrix, self._u, self._v, self.n_power_iterations, self.eps)
                self._u.copy_(left)
                self._v.copy_(right)
        # Copies: another forward changes the buffers before this one's backward.
        return weight / self._u.clone().vdot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Has the tensor `module.name` be divided by its greatest singular value (Miyato et al., 2018), that of the matrix whose rows are the indices
    along `dim`: 0 unless given, 1 for transposed convolutions. It is estimated by `n_power_iterations` steps of the power method whenever the
    tensor is asked for in training. Returns the module."""
    weight = _tensor_of(module, name)
    dim = default_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
