"""geoopt: points of manifolds, distances with gradients, optimizers. In float64, as its documentation advises."""

import geoopt
import models
import torch

PACKAGE = "geoopt"
_MANIFOLDS = {
    "Poincare ball": lambda: geoopt.PoincareBall(c=0.7), "Lorentz": lambda: geoopt.Lorentz(), "sphere": lambda: geoopt.Sphere(),
    "Euclidean": lambda: geoopt.Euclidean(1), "stereographic": lambda: geoopt.Stereographic(0.4), "sphere projection": lambda: geoopt.SphereProjection(),
    "symmetric positive definite": lambda: geoopt.SymmetricPositiveDefinite(), "Stiefel": lambda: geoopt.CanonicalStiefel(),
    "Birkhoff": lambda: geoopt.BirkhoffPolytope(),
}  # fmt: skip


def _moved(name):
    """A point, projected; a tangent there; where it leads; and the gradient of the last by both."""

    def run():
        manifold = _MANIFOLDS[name]()
        size = (4, 3) if name == "Stiefel" else (4, 4)
        x = (0.3 * models.normal(*size, name="point")).double().requires_grad_()
        u = (0.1 * models.normal(*size, name="tangent")).double().requires_grad_()
        start = manifold.projx(x.abs() if name == "Birkhoff" else x @ x.mT + torch.eye(4).double() if name.startswith("symmetric") else x)
        tangent = manifold.proju(start, u)
        found = [start, tangent, manifold.retr(start, tangent), manifold.inner(start, tangent, tangent)]
        sum(part.sum() for part in found).backward()
        return models.arrays([*found, x.grad, u.grad])

    return run


def _distances(name):
    def run():
        manifold = _MANIFOLDS[name]()
        x, y = (manifold.projx((0.4 * models.normal(5, 3, name=given)).double()).requires_grad_() for given in ("x", "y"))
        found = [manifold.dist(x, y), manifold.expmap(x, manifold.logmap(x, y)), manifold.transp(x, y, manifold.proju(x, y))]
        sum(part.sum() for part in found).backward()
        return models.arrays([*found, x.grad, y.grad])

    return run


def _optimized(optimizer, **options):
    def run():
        manifold = geoopt.PoincareBall()
        x = geoopt.ManifoldParameter((0.2 * models.normal(6, 3)).double(), manifold=manifold)
        goal = manifold.projx((0.3 * models.normal(6, 3, name="goal")).double())
        step = getattr(geoopt.optim, optimizer)([x], lr=0.1, **options)
        for _ in range(10):
            step.zero_grad()
            manifold.dist2(x, goal).sum().backward()
            step.step()
        return models.arrays([x.detach()])

    return run


CASES = {name: _moved(name) for name in _MANIFOLDS} | {
    f"distances, {name}": _distances(name) for name in ("Poincare ball", "Lorentz", "sphere", "Euclidean", "stereographic")
} | {
    "RiemannianSGD": _optimized("RiemannianSGD", momentum=0.9),
    "RiemannianAdam": _optimized("RiemannianAdam", amsgrad=True),
}  # fmt: skip
