"""`opforge.signal.windows` against SciPy, and the orthogonal polynomials of `opforge.special`."""

import numpy as np
import pytest
import scipy.signal.windows
import scipy.special

import opforge as torch
from opforge.signal import windows

CASES = [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 2.0}), ("gaussian", {"std": 0.8}),
    ("general_cosine", {"a": [0.5, 0.3, 0.2]}), ("general_hamming", {"alpha": 0.6}), ("hamming", {}), ("hann", {}), ("kaiser", {"beta": 5.0}),
    ("nuttall", {}),
]  # fmt: skip


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize(("name", "options"), CASES, ids=[name for name, _ in CASES])
def test_windows(name, options, sym):
    reference = getattr(scipy.signal.windows, name)
    for M in (0, 1, 2, 9):
        found = getattr(windows, name)(M, sym=sym, dtype=torch.float64, **options).numpy()
        np.testing.assert_allclose(found, reference(M, sym=sym, **options), rtol=1e-9, atol=1e-14)
    assert getattr(windows, name)(4, **options).dtype == torch.float32
    assert getattr(windows, name)(4, requires_grad=True, **options).requires_grad


def test_kaiser_where_its_bessel_functions_are_no_finite_numbers():
    height = np.sqrt(1 - (2 * np.arange(9) / 8 - 1) ** 2)
    expected = scipy.special.i0e(900 * height) / scipy.special.i0e(900) * np.exp(900 * (height - 1))
    np.testing.assert_allclose(windows.kaiser(9, beta=900.0, dtype=torch.float64).numpy(), expected, rtol=1e-9)


def test_what_is_no_window():
    for call in (
        lambda: windows.hann(-1),
        lambda: windows.hann(3, dtype=torch.int64),
        lambda: windows.gaussian(3, std=0),
        lambda: windows.exponential(3, tau=-1),
        lambda: windows.exponential(3, center=1.0),
        lambda: windows.kaiser(3, beta=-1),
        lambda: windows.general_cosine(3, a=[]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        windows.general_cosine(3, a=1.0)


POLYNOMIALS = {
    "chebyshev_polynomial_t": scipy.special.eval_chebyt,
    "chebyshev_polynomial_u": scipy.special.eval_chebyu,
    "chebyshev_polynomial_v": lambda n, x: scipy.special.eval_chebyu(n, x) - scipy.special.eval_chebyu(n - 1, x) if n else np.ones_like(x),
    "chebyshev_polynomial_w": lambda n, x: scipy.special.eval_chebyu(n, x) + scipy.special.eval_chebyu(n - 1, x) if n else np.ones_like(x),
    "hermite_polynomial_h": scipy.special.eval_hermite,
    "hermite_polynomial_he": scipy.special.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.special.eval_laguerre,
    "legendre_polynomial_p": scipy.special.eval_legendre,
}
X = np.array([-1.5, -1.0, -0.3, 0.0, 0.4, 1.0, 2.0])


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 12])
def test_polynomials(name, n):
    function = getattr(torch.special, name)
    np.testing.assert_allclose(function(torch.tensor(X), n).numpy(), POLYNOMIALS[name](n, X), rtol=1e-9, atol=1e-9)
    if name.startswith("chebyshev"):
        found = getattr(torch.special, f"shifted_{name}")(torch.tensor(X), n).numpy()
        np.testing.assert_allclose(found, POLYNOMIALS[name](n, 2 * X - 1), rtol=1e-9, atol=1e-9)


def test_degrees_broadcast_and_are_rounded_towards_0():
    x, n = torch.tensor([[0.5], [2.0]], dtype=torch.float64), torch.tensor([-1.0, 0.0, 2.9])
    assert torch.special.legendre_polynomial_p(x, n).tolist() == [[0, 1, -0.125], [0, 1, 5.5]]
    assert torch.special.chebyshev_polynomial_t(0.5, torch.tensor([0, 1])).dtype == torch.float32
    assert torch.special.chebyshev_polynomial_t(torch.tensor([2]), 2).tolist() == [7]
    assert torch.special.hermite_polynomial_h(torch.empty(0), 3).shape == (0,)
    assert torch.special.laguerre_polynomial_l(torch.tensor(float("nan")), 1).isnan().item()


def test_polynomials_have_gradients_and_errors():
    x = torch.tensor(X).requires_grad_()
    for name in POLYNOMIALS:
        assert torch.autograd.gradcheck(lambda x, name=name: getattr(torch.special, name)(x, 4), (x,))
    with pytest.raises(TypeError):
        torch.special.legendre_polynomial_p(0.5, 2)
    for function in (torch.special.chebyshev_polynomial_t, torch.special.shifted_chebyshev_polynomial_t):
        with pytest.raises(RuntimeError):
            function(torch.tensor([1j]), 2)
    with pytest.raises(AttributeError):
        torch.special.other_polynomial_t
