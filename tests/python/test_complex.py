"""Gradients and operators of complex numbers as Python sees them; the values are in `cases/complexes.py`."""

import itertools

import numpy as np
import pytest
from test_registry import CASES, call, leaves, tensors

import opforge as torch


def numbers(*shape):
    parts = np.random.default_rng(0).uniform(-1, 1, (2, *shape))
    return torch.tensor(parts[0] + 1j * parts[1])


def test_operators():
    z, w = numbers(3), numbers(3) * 1j
    np.testing.assert_allclose((2 * z - w / 3 + 1j).numpy(), 2 * z.numpy() - w.numpy() / 3 + 1j)
    np.testing.assert_allclose(abs(z).numpy(), abs(z.numpy()))
    np.testing.assert_allclose((numbers(2, 3) @ numbers(3, 2)).numpy(), numbers(2, 3).numpy() @ numbers(3, 2).numpy())
    z += w
    z *= 2
    np.testing.assert_allclose(z.numpy(), 2 * (numbers(3).numpy() + w.numpy()))
    assert (z.real.dtype, z.imag.dtype) == (torch.float64, torch.float64)


def test_parts_are_views():
    z = numbers(3)
    z.real.zero_()
    z.imag.fill_(2)
    assert z.tolist() == [2j] * 3
    assert torch.view_as_complex(torch.view_as_real(z)).data_ptr() == z.data_ptr()


def test_parts_are_assigned():
    z = numbers(2)
    z.real, z.imag = torch.tensor([1.0, 2.0]), 5
    assert z.tolist() == [1 + 5j, 2 + 5j]
    with pytest.raises(RuntimeError):
        torch.ones(1).imag = 2.0


def _scale_real(z, x):
    z.real.mul_(x)


def _read_before(z, x):
    real = z.real
    z.mul_(2j)
    z.add_(real + x)


def _copy_imag(z, x):
    z.imag.copy_(x * 2)


def _pairs(z, x):
    torch.view_as_real(z)[1:, 0] *= x[1:]
    z[0].imag.add_(z[1].real)


def _of_pairs(z, x):
    whole = torch.view_as_complex(torch.view_as_real(z)[1:])
    z.real.mul_(x)
    whole.mul_(1j)


@pytest.mark.parametrize("change", [_scale_real, _read_before, _copy_imag, _pairs, _of_pairs])
@pytest.mark.parametrize("transposed", [False, True])
def test_what_is_written_through_parts_has_a_gradient(change, transposed):
    """Views of another dtype had histories of their own: what was written through one was unknown to the other."""

    def function(z, x):
        z = z.t() * 1 if transposed else (z * 1)
        change(z, x)
        return torch.view_as_real(z * z.abs())

    z, x = numbers(2, 2).requires_grad_(), torch.tensor([[0.5], [2.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (z, x)) and torch.autograd.gradgradcheck(function, (z, x))


def test_parts_of_leaves_are_not_written():
    z = numbers(2).requires_grad_()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        z.real.mul_(2)
    fresh = torch.zeros(2, dtype=torch.complex128)
    fresh.imag[:] = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert fresh.requires_grad and fresh.tolist() == [1j, 1j]


def test_gradient_is_that_of_both_parts():
    """Steepest ascent of |z - w|^2 leads away from w: its gradient is 2 (z - w)."""
    z, w = numbers(4).requires_grad_(), numbers(4).conj()
    difference = z - w
    (difference * difference.conj()).real.sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * (z.detach() - w).numpy())


def test_gradients_add_up():
    z = numbers(4).requires_grad_()
    for _ in range(2):
        (z.abs() + z.abs()).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 4 * (z.detach() / z.detach().abs()).numpy())


def test_eigenvalues_can_be_trained():
    a = torch.tensor([[0.0, 1.0], [-1.0, 0.5]], requires_grad=True)
    for _ in range(200):
        loss = ((torch.linalg.eigvals(a) - torch.tensor([0.3 + 0.8j, 0.3 - 0.8j])).abs() ** 2).sum()
        a.grad = None
        loss.backward()
        with torch.no_grad():
            a -= 0.1 * a.grad
    found = sorted(torch.linalg.eigvals(a.detach()).numpy(), key=lambda z: z.imag)
    np.testing.assert_allclose(found, [0.3 - 0.8j, 0.3 + 0.8j], atol=1e-3)


def test_quotients_by_nan_are_nan():
    nan = float("nan")
    for divisor in (complex(nan, 0), complex(0, nan), complex(nan, 1), complex(2, nan), complex(nan, nan)):
        assert torch.isnan(torch.view_as_real(torch.tensor(1 + 2j) / torch.tensor(divisor))).all()


def test_what_is_not_there_is_refused():
    for call in (lambda: numbers(2).floor(), lambda: torch.ones(2).imag, lambda: torch.view_as_real(torch.ones(2))):
        with pytest.raises(torch.OpforgeError):
            call()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_products_and_quotients_of_every_length_and_layout(dtype):
    """Kernels read vectors of real and of imaginary parts: beginnings and ends of rows, repeated numbers, strides."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    tolerance = 1e-5 if dtype is np.complex64 else 1e-13
    layouts = [lambda z: z, lambda z: z.T, lambda z: z[:1], lambda z: z[:, :1], lambda z: z[0, 0]]
    for n in [1, 2, 3, 7, 8, 9, 16, 17, 31, 40]:
        a, b = draw(n, n), draw(n, 2 * n)
        for of_a, of_b in itertools.product(layouts, [lambda z: z[:, ::2], lambda z: z[:, n:], lambda z: z[:1, :n], lambda z: z[:, :1]]):
            x, y, p, q = of_a(a), of_b(b), of_a(torch.tensor(a)), of_b(torch.tensor(b))
            for got, want in ((p * q, x * y), (p / q, x / y), (q * p, y * x)):
                assert got.shape == want.shape and np.allclose(got.numpy(), want, rtol=tolerance, atol=tolerance * 10), (n, x.shape, y.shape)


# References of these are written for real numbers, of symmetric matrices, or of nothing.
REAL_REFERENCES = """
adjoint angle block_diag cholesky_inverse cholesky_solve conj conj_physical eigvalsh empty_like fold householder_product logdet lu_solve lu_solve_data matrix_sqrth
l1_loss new_full new_ones new_zeros orgqr pinv real stft
""".split()


def made_complex(argument, rng):
    """An argument whose floats have an imaginary part too."""
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f":
        return argument + 1j * rng.permutation(argument.ravel()).reshape(argument.shape)
    return type(argument)(made_complex(one, rng) for one in argument) if isinstance(argument, list | tuple) else argument


def holds_complex(arguments):
    return any(isinstance(leaf, np.ndarray) and leaf.dtype.kind == "c" for leaf in leaves(arguments))


@pytest.mark.filterwarnings("ignore")
def test_functions_that_take_complex_numbers_give_what_their_references_do():
    wrong, compared = [], set()
    for case in CASES:
        arguments = made_complex(case.args, np.random.default_rng(1))
        if case.name in REAL_REFERENCES or holds_complex(case.args) or not holds_complex(arguments):
            continue
        try:
            got, want = leaves(call(case, tensors(arguments, torch.complex128))), leaves(case.reference(*arguments, **case.options))
        except Exception:
            continue
        for ours, theirs in zip(got, map(np.asarray, want)):
            ours = ours.numpy() if isinstance(ours, torch.Tensor) else np.asarray(ours)
            is_same = ours.shape == theirs.shape and ours.dtype.kind == theirs.dtype.kind and np.allclose(ours, theirs, rtol=1e-6, atol=1e-8, equal_nan=True)
            wrong += [] if is_same else [f"{case}: {ours.ravel()[:3]}, not {theirs.ravel()[:3]}"]
        compared.add(case.name)
    # All those that took them when this was written: none may begin to refuse.
    assert not wrong and len(compared) >= 310, (len(compared), wrong)
