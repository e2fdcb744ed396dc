"""Many elements in, one out."""

import numpy as np

from . import case, spread, whole

X = spread(-2, 2, 2, 3, 4)
NEAR_ONE = spread(0.5, 1.5, 2, 3, 4)
I = whole(-5, 6, 2, 3, 4)
TRUTH = whole(0, 2, 2, 3, 4).astype(bool)


def along(f):
    """A reference with PyTorch's names for numpy's arguments."""
    return lambda x, dim=None, keepdim=False: f(x, axis=tuple(dim) if isinstance(dim, (list, tuple)) else dim, keepdims=keepdim)


def var(x, dim=None, correction=1, keepdim=False):
    return np.var(x, axis=tuple(dim) if isinstance(dim, (list, tuple)) else dim, ddof=correction, keepdims=keepdim)


CASES = [
    *(
        case(name, along(f), x, **options)
        for name, f, x in [("sum", np.sum, X), ("mean", np.mean, X), ("prod", np.prod, NEAR_ONE), ("amax", np.max, X), ("amin", np.min, X)]
        for options in [{}, {"dim": 1}, {"dim": -1, "keepdim": True}, {"dim": (0, 2)}]
    ),
    *(case(name, along(f), x, dim=0) for name, f in [("sum", np.sum), ("prod", np.prod), ("amax", np.max), ("amin", np.min)] for x in [I]),
    case("sum", lambda x: np.sum(x, dtype=np.int64), TRUTH),
    case("var", var, X),
    case("var", var, X, 1),
    case("var", var, X, dim=(0, 2), correction=0, keepdim=True),
    *(case(name, along(f), x, **o) for name, f in [("all", np.all), ("any", np.any)] for x in [TRUTH, I] for o in [{}, {"dim": 1}]),
    *(case(name, along(f), x, **o) for name, f in [("argmax", np.argmax), ("argmin", np.argmin)] for x in [X] for o in [{}, {"dim": 1}, {"dim": 2, "keepdim": True}]),
    *(case("cumsum", lambda x, dim: np.cumsum(x, axis=dim), x, dim) for x in (X, I) for dim in (0, -1)),
]
