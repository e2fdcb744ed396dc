"""Factors, inverses and norms of complex matrices, and what else PyTorch computes of complex numbers: against numpy, and with gradients by differences."""

import pytest

import opforge as torch

np = pytest.importorskip("numpy")

RANDOM = np.random.default_rng(5)
A = RANDOM.normal(size=(2, 3, 3)) + 1j * RANDOM.normal(size=(2, 3, 3))
TALL = RANDOM.normal(size=(4, 3)) + 1j * RANDOM.normal(size=(4, 3))
B = RANDOM.normal(size=(2, 3, 2)) + 1j * RANDOM.normal(size=(2, 3, 2))
H = A @ A.conj().swapaxes(-1, -2) + np.eye(3)
Z = RANDOM.normal(size=(3, 5)) + 1j * RANDOM.normal(size=(3, 5))
F = torch.nn.functional


def exponential(a):
    values, vectors = np.linalg.eig(a)
    return vectors @ (np.exp(values)[..., None] * np.linalg.inv(vectors))


def convolved(z, w):
    return np.stack([[np.convolve(row, w[::-1], "valid")] for row in z])


LINEAR = [
    (torch.linalg.inv, np.linalg.inv, [A]),
    (lambda a: torch.linalg.solve(a, torch.from_numpy(B)), lambda a: np.linalg.solve(a, B), [A]),
    (lambda b: torch.linalg.solve(torch.from_numpy(A), b[..., 0]), lambda b: np.linalg.solve(A, b)[..., 0], [B]),
    (lambda a: torch.linalg.solve_triangular(a, torch.from_numpy(B), upper=True), lambda a: np.linalg.solve(np.triu(a), B), [A]),
    (torch.linalg.cholesky, np.linalg.cholesky, [H]),
    (lambda a: torch.linalg.cholesky(a, upper=True), lambda a: np.linalg.cholesky(a).conj().swapaxes(-1, -2), [H]),
    (lambda a: torch.cholesky_inverse(torch.linalg.cholesky(a)), np.linalg.inv, [H]),
    (torch.linalg.eigvalsh, np.linalg.eigvalsh, [H]),
    (torch.linalg.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), [TALL]),
    (torch.linalg.pinv, np.linalg.pinv, [TALL]),
    (lambda a: torch.linalg.pinv(a, hermitian=True), np.linalg.inv, [H]),
    (torch.linalg.matrix_exp, exponential, [A]),
    (lambda a: torch.linalg.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2), [A]),
    (torch.linalg.norm, np.linalg.norm, [TALL]),
    (lambda a: torch.linalg.matrix_norm(a, "nuc"), lambda a: np.linalg.norm(a, "nuc"), [TALL]),
    (lambda a: torch.linalg.cond(a), np.linalg.cond, [A]),
    (lambda a: torch.linalg.vector_norm(a, dim=0, keepdim=True), lambda a: np.linalg.norm(a, axis=0, keepdims=True), [TALL]),
    (lambda a: torch.var(a, 1), lambda a: np.var(a, axis=1, ddof=1), [Z]),
    (torch.std, lambda a: np.std(a, ddof=1), [Z]),
    (torch.cov, np.cov, [Z]),
    (torch.corrcoef, np.corrcoef, [Z]),
    (torch.sinc, np.sinc, [Z]),
    (F.silu, lambda z: z / (1 + np.exp(-z)), [Z]),
    (F.softsign, lambda z: z / (1 + abs(z)), [Z]),
    (lambda z: F.linear(z, torch.from_numpy(Z), torch.from_numpy(TALL[:3, 0])), lambda z: z @ Z.T + TALL[:3, 0], [Z]),
    (lambda z: F.conv1d(z.unsqueeze(1), torch.from_numpy(B[:1, :, 0][None]), None), lambda z: convolved(z, B[0, :, 0]), [Z]),
]


@pytest.mark.parametrize("function, reference, args", LINEAR)
def test_values_and_gradients(function, reference, args):
    (value,) = args
    x = torch.from_numpy(value).requires_grad_()
    result = function(x)
    assert np.allclose(result.detach().numpy(), reference(value))
    weights = RANDOM.normal(size=(2, *result.shape))
    total = lambda z: (np.asarray(z).real * weights[0] + np.asarray(z).imag * weights[1]).sum()  # noqa: E731
    parts = (result.real * torch.tensor(weights[0])).sum() + ((result.imag * torch.tensor(weights[1])).sum() if result.is_complex() else 0)
    (grad,) = torch.autograd.grad(parts, x)
    # Along a direction that leaves Hermitian matrices Hermitian.
    step = RANDOM.normal(size=value.shape) + 1j * RANDOM.normal(size=value.shape)
    if value is H:
        step = step + step.conj().swapaxes(-1, -2)
    slope = (total(reference(value + 1e-6 * step)) - total(reference(value - 1e-6 * step))) / 2e-6
    assert np.isclose((grad.numpy().conj() * step).real.sum(), slope, rtol=1e-4, atol=1e-6)


def test_ranks_of_complex_matrices():
    one = torch.from_numpy(TALL[:, :1] @ TALL[:1])
    assert torch.linalg.matrix_rank(one).item() == 1
    assert torch.linalg.matrix_rank(torch.from_numpy(H), hermitian=True).tolist() == [3, 3]


def test_truth_of_complex_numbers():
    z, w = torch.tensor([0j, 1j, 1.0 + 0j]), torch.tensor([0j, 0j, 2j])
    assert torch.logical_and(z, w).tolist() == [False, False, True]
    assert torch.logical_or(z, w).tolist() == [False, True, True]
    assert torch.logical_xor(z, w).tolist() == [False, True, False]
    assert torch.logical_not(z).tolist() == [True, False, False]


def test_complex_powers_in_double_precision():
    power = torch.float_power(torch.tensor([2]), 1j)
    assert power.dtype is torch.complex128 and np.allclose(power.numpy(), 2**1j)


def test_nan_in_either_part_is_replaced():
    z = torch.tensor([complex(float("nan"), 1.0), complex(2.0, float("inf"))])
    assert torch.nan_to_num(z, nan=5.0, posinf=7.0).tolist() == [5 + 1j, 2 + 7j]
