"""linear_operator: matrices of structure, their products, solutions, determinants and roots, with gradients. In float64."""

import linear_operator as lo
import models
import torch
from linear_operator import operators

PACKAGE = "linear-operator"


def _positive(n, name):
    root = models.normal(n, n, name=name).double()
    return (root @ root.mT + n * torch.eye(n).double()).requires_grad_()


_KINDS = {
    "dense": lambda a, b, d: operators.DenseLinearOperator(a),
    "diagonal": lambda a, b, d: operators.DiagLinearOperator(d),
    "dense and diagonal": lambda a, b, d: operators.DenseLinearOperator(a).add_diagonal(d),
    "Kronecker": lambda a, b, d: operators.KroneckerProductLinearOperator(operators.DenseLinearOperator(a), operators.DenseLinearOperator(b)),
    "Kronecker and diagonal": lambda a, b, d: operators.KroneckerProductLinearOperator(a, b).add_jitter(0.5),
    "Toeplitz": lambda a, b, d: operators.ToeplitzLinearOperator(d.cumsum(0).flip(0)).add_jitter(20.0),
    "sum": lambda a, b, d: operators.DenseLinearOperator(a) + operators.DiagLinearOperator(d) * 2,
    "scaled": lambda a, b, d: operators.ConstantMulLinearOperator(operators.DenseLinearOperator(a), d[0]),
    "root": lambda a, b, d: operators.RootLinearOperator(a).add_jitter(0.1),
    "low rank": lambda a, b, d: operators.LowRankRootLinearOperator(a[:, :2]).add_diagonal(d),
    "triangular product": lambda a, b, d: operators.CholLinearOperator(operators.TriangularLinearOperator(a.tril())),
    "blocks": lambda a, b, d: operators.BlockDiagLinearOperator(operators.DenseLinearOperator(torch.stack([a, a * 2]))),
}


def _case(kind):
    def run():
        a, b, d = _positive(4, "a"), _positive(3, "b"), (models.uniform(4, name="d") + 1).double().requires_grad_()
        matrix = _KINDS[kind](a, b, d)
        right = models.normal(matrix.shape[-1], 2, name="right").double()
        quadratic, logdet = matrix.inv_quad_logdet(right, logdet=True)
        found = [matrix @ right, matrix.solve(right), quadratic, logdet, matrix.diagonal(), matrix.to_dense()]
        sum(part.sum() for part in found).backward()
        return models.arrays([*(part.detach() for part in found), *(t.grad for t in (a, b, d) if t.grad is not None)])

    return run


def _iterated():
    a = _positive(30, "large")
    right = models.normal(30, 2, name="right").double()
    with lo.settings.fast_computations(solves=True), lo.settings.max_cholesky_size(1), lo.settings.cg_tolerance(1e-8):
        found = operators.DenseLinearOperator(a).solve(right)
    found.square().sum().backward()
    return models.arrays([found.detach(), a.grad])


CASES = {kind: _case(kind) for kind in _KINDS} | {"conjugate gradients": _iterated}
