"""Rows of few elements, which kernels walk in ways of their own: numpy's values, for every length up to some vectors."""

import numpy as np
import pytest

import opforge as torch

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 28, 29, 31, 32, 33, 40]
# More rows than a thread takes at a time, and numbers that are no multiples of a vector.
ROWS = [1, 7, 600, 20011]


def numbers(shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    whole = np.dtype(dtype).kind in "iu"
    return rng.integers(0, 100, shape).astype(dtype) if whole else rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "uint8"])
@pytest.mark.parametrize("length", LENGTHS)
def test_elements_of_slices(dtype, length):
    """A part of each row, which no run of memory holds with the next: out of place, into a part of rows, and in place."""
    x, y = numbers((601, length + 3), dtype), numbers((601, length + 3), dtype, 1)
    column, row = numbers((601, 1), dtype, 2), numbers(length, dtype, 3)
    left, right = torch.from_numpy(x)[:, 2:-1], torch.from_numpy(y)[:, 1:-2]
    a, b = x[:, 2:-1], y[:, 1:-2]
    for result, expected in [(left + right, a + b), (left * torch.from_numpy(column), a * column), (left - torch.from_numpy(row), a - row), (left > right, a > b),
                             (torch.where(left > right, left, right), np.maximum(a, b))]:
        np.testing.assert_array_equal(result.numpy(), expected)
    out, expected = torch.zeros(601, length + 5, dtype=left.dtype), np.zeros((601, length + 5), dtype)
    torch.add(left, right, out=out[:, 3:-2])
    expected[:, 3:-2] = a + b
    np.testing.assert_array_equal(out.numpy(), expected)
    left.mul_(right)
    a *= b
    np.testing.assert_array_equal(left.numpy(), a)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 9, 16, 17, 64, 65])
def test_writes_into_lines(rows, length):
    """A few indices in each of many lines; the lines of one share none of their places."""
    rng = np.random.default_rng(length)
    places = 80
    base, values = numbers((rows, places)), numbers((rows, length), seed=1)
    ids = np.argsort(rng.random((rows, places)), axis=1)[:, :length].copy()
    lines = np.arange(rows)[:, None]
    x, i, v = torch.from_numpy(base), torch.from_numpy(ids), torch.from_numpy(values)
    written, added, largest, filled = base.copy(), base.copy(), base.copy(), base.copy()
    written[lines, ids] = values
    added[lines, ids] += values
    largest[lines, ids] = np.maximum(base[lines, ids], values)
    filled[lines, ids] = 3
    for indices in (i, i.int()):
        np.testing.assert_array_equal(x.scatter(1, indices, v).numpy(), written)
        np.testing.assert_array_equal(x.scatter_add(1, indices, v).numpy(), added)
    np.testing.assert_array_equal(x.scatter_reduce(1, i, v, "amax").numpy(), largest)
    np.testing.assert_array_equal(x.scatter(1, i, 3.0).numpy(), filled)
    np.testing.assert_array_equal(x.t().scatter(0, i.t(), v.t()).numpy(), written.T)
    for change, expected in [("scatter_", written), ("scatter_add_", added)]:
        changed = x.clone()
        getattr(changed, change)(1, i, v)
        np.testing.assert_array_equal(changed.numpy(), expected)
    with pytest.raises(IndexError):
        x.scatter_(1, torch.full((rows, length), places), v)
    np.testing.assert_array_equal(x.numpy(), base)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("length", [1, 3, 16, 17])
def test_columns_are_written_in_place(rows, length):
    base, values = numbers((rows, 40)), numbers((rows, length), seed=1)
    ids = np.random.default_rng(0).permutation(40)[:length].copy()
    i, v = torch.from_numpy(ids), torch.from_numpy(values)
    written, added, filled, masked = base.copy(), base.copy(), base.copy(), base.copy()
    written[:, ids] = values
    added[:, ids] += values
    filled[:, ids] = 2
    masked[base > 0.5] = -1
    for change, expected in [(lambda x: x.index_copy_(1, i, v), written), (lambda x: x.index_add_(1, i, v), added), (lambda x: x.index_fill_(1, i, 2.0), filled),
                             (lambda x: x.masked_fill_(x > 0.5, -1.0), masked), (lambda x: x.scatter_(1, i.expand(rows, -1), 2.0), filled)]:
        x = torch.from_numpy(base.copy())
        before, place = x._version, x.data_ptr()
        assert change(x) is x and x.data_ptr() == place and x._version > before
        np.testing.assert_array_equal(x.numpy(), expected)
        turned = torch.from_numpy(base.T.copy()).t()
        np.testing.assert_array_equal(change(turned).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(20011, 3), (3, 20011), (7, 15), (33, 17), (16, 200), (5, 16, 3)])
def test_running_sums(dtype, shape):
    x = torch.from_numpy(numbers(shape)).to(getattr(torch, dtype))
    for dim in range(len(shape)):
        # Computed in f64 and rounded once; numpy has no bfloat16, of which half a unit is 2^-8.
        expected = np.cumsum(x.double().numpy(), axis=dim)
        for result in (x.cumsum(dim), x.movedim(dim, 0).cumsum(0).movedim(0, dim)):
            if dtype == "bfloat16":
                np.testing.assert_allclose(result.double().numpy(), expected, rtol=2**-8)
            else:
                np.testing.assert_array_equal(result.numpy(), expected.astype(dtype))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8"])
@pytest.mark.parametrize("low, high", [(0, 3), (-5, 100), (-(2**40), 2**40), (7, 8)])
def test_different_integers(dtype, low, high):
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(max(low, bounds.min), min(high, bounds.max), (50, 60)).astype(dtype)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    found = torch.unique(torch.from_numpy(x), return_inverse=True, return_counts=True)
    for result, expected in zip(found, (values, inverse.reshape(x.shape), counts)):
        np.testing.assert_array_equal(result.numpy(), expected)
    assert found[0].dtype == torch.from_numpy(x).dtype
    np.testing.assert_array_equal(torch.unique(torch.from_numpy(x)).numpy(), values)


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 1)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((1, 64), (64, 64)), ((4,), (4, 3)), ((5, 4), (4,))])
def test_complex_products(shapes):
    (a, b), (c, d) = ((numbers(shape, "float64", seed), numbers(shape, "float64", seed + 1)) for seed, shape in zip((0, 2), shapes))
    left, right = a + 1j * b, c + 1j * d
    x, y = torch.from_numpy(left).requires_grad_(), torch.from_numpy(right).requires_grad_()
    np.testing.assert_allclose((x @ y).detach().numpy(), left @ right, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(torch.matmul, (x, y)) if (x @ y).numel() else True
    if x.ndim > 1:
        # Columns of what lies in rows, and conjugates.
        np.testing.assert_allclose((x.mT.contiguous().mT @ y).detach().numpy(), left @ right, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose((x.conj() @ y).detach().numpy(), left.conj() @ right, rtol=1e-12, atol=1e-12)
    with pytest.raises(RuntimeError, match="matmul"):
        x @ torch.ones(7, 7, dtype=x.dtype)
