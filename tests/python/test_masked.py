"""`opforge.masked`: reductions of what a mask says is there, against numpy's masked arrays, and masked tensors."""

import numpy as np
import pytest

import opforge as torch
from opforge import masked

RANDOM = np.random.RandomState(4)
X = RANDOM.randn(3, 4, 5)
MASK = RANDOM.rand(3, 4, 5) < 0.6
MASK[:, :, 0] = True
MASK[1, 2] = False
REFERENCE = np.ma.array(X, mask=~MASK)
DIMS = [None, 0, -1, (0, 2)]


def close(found, expected, empty):
    np.testing.assert_allclose(found.numpy(), np.ma.filled(expected, empty), rtol=1e-10)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("name", "empty"), [("sum", 0), ("prod", 1), ("amax", -np.inf), ("amin", np.inf), ("mean", np.nan)])
def test_reductions(name, empty, dim, keepdim):
    x, mask = torch.tensor(X), torch.tensor(MASK)
    reference = getattr(REFERENCE, {"amax": "max", "amin": "min"}.get(name, name))
    if name == "prod" and isinstance(dim, tuple):
        expected = REFERENCE.prod(2).prod(0)
        expected = np.reshape(expected, (1, 4, 1)) if keepdim else expected
    else:
        expected = reference(axis=dim, keepdims=keepdim) if name != "prod" or dim is not None else reference(axis=dim)
    found = getattr(masked, name)(x, dim, keepdim=keepdim, mask=mask)
    close(found.reshape(np.shape(expected)), expected, empty)
    np.testing.assert_allclose(getattr(masked, name)(x, dim).numpy(), getattr(masked, name)(x, dim, mask=torch.tensor(True)).numpy())


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_variances(correction):
    x, mask = torch.tensor(X), torch.tensor(MASK)
    variance = lambda row, there: row[there].var(ddof=correction) if there.sum() > correction else np.nan  # noqa: E731
    expected = np.array([[variance(row, there) for row, there in zip(*pair)] for pair in zip(X, MASK)])
    found = masked.var(x, -1, correction=correction, mask=mask).numpy()
    known = ~np.isnan(expected)
    np.testing.assert_allclose(found[known], expected[known], rtol=1e-10)
    assert not np.isfinite(found[~known]).any()
    np.testing.assert_allclose(masked.std(x, -1, correction=correction, mask=mask).numpy()[known], np.sqrt(expected[known]), rtol=1e-10)


def test_places_medians_and_norms():
    x, mask = torch.tensor(X), torch.tensor(MASK)
    rows = [(row[there], there) for pair in zip(X, MASK) for row, there in zip(*pair)]
    flat = lambda f, empty: np.array([f(values) if len(values) else empty for values, _ in rows]).reshape(3, 4)  # noqa: E731
    np.testing.assert_allclose(masked.median(x, -1, mask=mask).numpy(), flat(lambda v: np.sort(v)[(len(v) - 1) // 2], np.nan))
    np.testing.assert_allclose(masked.norm(x, 3.0, -1, mask=mask).numpy(), flat(lambda v: np.linalg.norm(v, 3), 0.0))
    np.testing.assert_allclose(masked.logsumexp(x, -1, mask=mask).numpy(), flat(lambda v: np.log(np.exp(v).sum()), -np.inf))
    places = masked.argmax(x, -1, mask=mask).numpy()
    lines = zip(X.reshape(-1, 5), MASK.reshape(-1, 5), places.reshape(-1))
    assert all(there[place] and row[place] == row[there].max() for row, there, place in lines if there.any())
    assert masked.argmin(x, mask=mask).item() == np.ma.argmin(REFERENCE)


def test_softmax_and_others_along_a_dimension():
    x, mask = torch.tensor(X), torch.tensor(MASK)
    weights = np.where(MASK, np.exp(X), 0)
    with np.errstate(invalid="ignore"):
        expected = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(masked.softmax(x, -1, mask=mask).numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(masked.softmin(-x, -1, mask=mask).numpy(), expected, rtol=1e-10)
    np.testing.assert_allclose(masked.log_softmax(x, -1, mask=mask).numpy()[MASK], np.log(expected[MASK]), rtol=1e-8)
    np.testing.assert_allclose(masked.cumsum(x, 1, mask=mask).numpy(), np.where(MASK, X, 0).cumsum(1), rtol=1e-10)
    np.testing.assert_allclose(masked.cumprod(x, 1, mask=mask).numpy(), np.where(MASK, X, 1).cumprod(1), rtol=1e-10)
    lengths = np.sqrt((np.where(MASK, X, 0) ** 2).sum(-1, keepdims=True))
    found = masked.normalize(x, 2.0, -1, mask=mask).numpy()
    np.testing.assert_allclose(found, np.where(MASK, X, 0) / np.maximum(lengths, 1e-12), rtol=1e-10)
    both = masked.logaddexp(x, x, input_mask=mask).numpy()
    np.testing.assert_allclose(both, np.where(MASK, X + np.log(2), X), rtol=1e-10)


def test_integers_and_bad_input():
    numbers, mask = torch.tensor([[3, -7], [5, 1]]), torch.tensor([[True, False], [False, False]])
    assert masked.sum(numbers, 1, mask=mask).tolist() == [3, 0]
    assert masked.amax(numbers, 0, mask=mask).tolist() == [3, torch.iinfo(torch.int64).min]
    with pytest.raises(ValueError, match="floating"):
        masked.mean(numbers, mask=mask)
    with pytest.raises(TypeError, match="bool"):
        masked.sum(numbers, mask=numbers)
    with pytest.raises(IndexError):
        masked.sum(numbers, 2, mask=mask)
    with pytest.raises(RuntimeError):
        masked.sum(numbers, (0, 0), mask=mask)


def test_gradients_go_to_what_is_there():
    x = torch.tensor(X[0]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: masked.mean(x, mask=torch.tensor(MASK[0])), (x,))
    masked.sum(x, mask=torch.tensor(MASK[0])).backward()
    assert x.grad.tolist() == MASK[0].astype(float).tolist()


def test_masked_tensors():
    mask = torch.tensor([True, False, True])
    a, b = masked.masked_tensor(torch.tensor([1.0, 2.0, 3.0]), mask), masked.as_masked_tensor(torch.tensor([4.0, 5.0, 6.0]), mask)
    assert masked.is_masked_tensor(a + b) and not masked.is_masked_tensor(mask)
    assert (a + b).to_tensor(-1).tolist() == [5, -1, 9] and torch.equal((a + b).get_mask(), mask)
    assert (2 - a / 2).to_tensor(0).tolist() == [1.5, 0, 0.5]
    assert a.sum().get_data().item() == 4 and a.mean(0).get_data().item() == 2 and a.square().sum().get_data().item() == 10
    assert (a < b).to_tensor(False).tolist() == [True, False, True]
    assert repr(a) == "MaskedTensor([1.0000, --, 3.0000], shape=(3,))"
    assert masked.masked_tensor(torch.ones(2, 2), torch.tensor([[True, False], [False, False]])).sum(1).get_mask().tolist() == [True, False]
    with pytest.raises(ValueError, match="match"):
        a + masked.masked_tensor(torch.ones(3), ~mask)
    with pytest.raises(ValueError, match="shape"):
        masked.masked_tensor(torch.ones(2), mask)
    with pytest.raises(TypeError, match="bool"):
        masked.masked_tensor(torch.ones(3), torch.ones(3))


def test_gradients_of_masked_tensors():
    data = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (masked.as_masked_tensor(data, torch.tensor([True, False, True])) * 3).sum().backward()
    assert data.grad.tolist() == [3, 0, 3]
