"""geomloss: distances between clouds of points, by Sinkhorn's algorithm and kernels. In float64: gradients at coinciding points are of rounding."""

import models
from geomloss import SamplesLoss

PACKAGE = "geomloss"


def _distance(loss, weighted=False, **options):
    def run():
        x, y = models.normal(7, 2).double().requires_grad_(), models.normal(9, 2, name="other").double()
        layer = SamplesLoss(loss, backend="tensorized", **options)
        if weighted:
            a, b = models.uniform(7, name="a").double(), models.uniform(9, name="b").double()
            found = layer(a / a.sum(), x, b / b.sum(), y)
        else:
            found = layer(x, y)
        total = sum(part.sum() for part in found) if isinstance(found, tuple) else found
        total.backward()
        return models.arrays([found, x.grad])

    return run


CASES = {
    "sinkhorn": _distance("sinkhorn", p=2, blur=0.1),
    "sinkhorn, p = 1": _distance("sinkhorn", p=1, blur=0.1),
    "sinkhorn, weighted, unbalanced": _distance("sinkhorn", True, blur=0.1, reach=0.5),
    "sinkhorn, potentials": _distance("sinkhorn", blur=0.2, potentials=True, debias=False),
    "energy": _distance("energy"),
    "gaussian": _distance("gaussian", blur=0.5),
    "laplacian": _distance("laplacian", True, blur=0.5),
}
