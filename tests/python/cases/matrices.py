"""Properties and factors of matrices."""

import numpy as np

from . import case, spread

S = spread(-1, 1, 2, 3, 3)
# Well-conditioned: symmetric with eigenvalues of at least 1; and not symmetric.
P = S @ S.swapaxes(1, 2) + np.eye(3)
A = S + 3 * np.eye(3)
B, V = spread(-1, 1, 2, 3, 4), spread(-1, 1, 2, 3)


def slogdet(a):
    return tuple(np.linalg.slogdet(a))


CASES = [
    # Only one triangle is read, so that differences of single elements tell another gradient than the symmetric one.
    case("cholesky", np.linalg.cholesky, P, smooth=False, half=False),
    case("cholesky", lambda a, upper: np.linalg.cholesky(a).swapaxes(-1, -2), P, upper=True, smooth=False, half=False),
    case("det", np.linalg.det, A, half=False),
    case("det", np.linalg.det, A[0], half=False),
    case("logdet", lambda a: np.linalg.slogdet(a)[1], P, half=False),
    case("slogdet", slogdet, A, half=False),
    case("slogdet", slogdet, -A, half=False),
    *(case(name, np.linalg.inv, A, half=False) for name in ("inv", "inverse")),
    case("solve", np.linalg.solve, A, B, half=False),
    case("solve", lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], A, V, half=False),
    case("solve", lambda a, b, left: b @ np.linalg.inv(a), A, B.swapaxes(1, 2), left=False, half=False),
]
