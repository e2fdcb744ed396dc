"""Complex numbers and their parts."""

import numpy as np

from . import case, holds, spread

RE, IM = spread(-2, 2), spread(-2, 2, seed=1)
Z = RE + 1j * IM

CASES = [
    case("view_as_real", lambda z: np.stack([z.real, z.imag], -1), Z),
    case("view_as_real", lambda z: np.stack([z.real, z.imag], -1), np.array(1 - 2j)),
    # A view that not every layout allows.
    holds("view_as_complex", lambda z: np.testing.assert_array_equal(z, Z[0]), np.stack([RE[0], IM[0]], -1)),
    case("complex", lambda re, im: re + 1j * im, RE, IM, half=False, smooth=False),
    case("polar", lambda r, angle: r * np.exp(1j * angle), RE, IM, half=False, smooth=False),
    case("imag", np.imag, Z),
    case("real", np.real, Z),
    case("conj", np.conj, Z),
    case("angle", np.angle, Z),
    case("isreal", np.isreal, np.array([1 + 0j, 1j])),
    case("adjoint", lambda z: z.conj().T, Z),
    case("abs", np.abs, Z),
    case("exp", np.exp, Z),
    case("log", np.log, Z),
    case("neg", np.negative, Z),
    case("recip", lambda z: 1 / z, Z),
    case("sqr", lambda z: z * z, Z),
    *(case(name, f, Z, Z[::-1].copy()) for name, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide))),
    *(case(name, f, Z, RE) for name, f in (("add", np.add), ("mul", np.multiply), ("div", np.divide))),
    *(case("mul", np.multiply, Z, number) for number in (2.5, 1 - 2j)),
    case("mul", np.multiply, RE, 2j, half=False, smooth=False),
    case("sum", lambda z: z.sum(), Z),
    case("sum", lambda z, dim: z.sum(dim), Z, 0),
    case("mean", lambda z, dim: z.mean(dim), Z, 1),
    case("matmul", np.matmul, Z, Z.T.copy()),
    case("matmul", np.matmul, Z, RE.T.copy(), half=False, smooth=False),
]
