"""Sums of products of matrices and vectors."""

import numpy as np

from . import case, spread

A, B = spread(-1, 1, 3, 4), spread(-1, 1, 4, 5)
S = spread(-1, 1, 4, 4)
V, W = spread(-1, 1, 4), spread(-1, 1, 3, seed=1)
BATCH, OTHER = spread(-1, 1, 2, 3, 4), spread(-1, 1, 2, 4, 5)
THREE = spread(-1, 1, 2, 3)
ROOM = spread(-1, 1, 3, 5)


def added(product):
    return lambda x, a, b, beta=1, alpha=1: beta * x + alpha * product(a, b)


CASES = [
    case("mm", np.matmul, A, B),
    case("bmm", np.matmul, BATCH, OTHER),
    case("mv", np.matmul, A, V),
    case("dot", np.dot, V, S[0]),
    case("vdot", np.vdot, V, S[0]),
    case("inner", np.inner, A, S),
    case("inner", np.inner, BATCH, V),
    *(case(name, np.outer, V, W) for name in ("outer", "ger")),
    *(
        case(name, added(product), x, a, b, **options)
        for name, product, x, a, b in [
            ("addmm", np.matmul, ROOM, A, B),
            ("addmv", np.matmul, W, A, V),
            ("addr", np.outer, S, V, V),
            ("addbmm", lambda a, b: np.matmul(a, b).sum(0), ROOM, BATCH, OTHER),
            ("baddbmm", np.matmul, ROOM, BATCH, OTHER),
        ]
        for options in [{}, {"beta": 0.5, "alpha": -2}]
    ),
    case("vecdot", lambda x, y: (x.conj() * y).sum(-1), BATCH, V),
    case("vecdot", lambda x, y, dim: (x.conj() * y).sum(dim), A, A[::-1].copy(), dim=0),
    case("trace", np.trace, A),
    case("kron", np.kron, A, THREE),
    *(case(name, np.cross, THREE, spread(-1, 1, 2, 3, seed=1)) for name in ("cross", "linalg_cross")),
    case("tensordot", lambda a, b, dims: np.tensordot(a, b, dims), BATCH, B, 1),
    case("tensordot_over", lambda a, b, i, j: np.tensordot(a, b, (i, j)), BATCH, OTHER, (2, 0), (1, 0)),
    *(case("matrix_power", np.linalg.matrix_power, S, n) for n in (0, 1, 3)),
    case("multi_dot", lambda m: np.linalg.multi_dot(m), [A, B, ROOM.T]),
    case("chain_matmul", lambda *m: np.linalg.multi_dot(m), A, B, ROOM.T),
    *(
        case("einsum", lambda equation, operands: np.einsum(equation, *operands), equation, operands)
        for equation, operands in [
            ("ij,jk->ik", [A, B]),
            ("bij,bjk->k", [BATCH, OTHER]),
            ("ii->i", [S]),
            ("ij->", [A]),
            ("i,j", [V, W]),
            ("...ij,j->...i", [BATCH, V]),
        ]
    ),
]
