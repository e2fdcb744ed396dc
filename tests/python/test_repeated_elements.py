"""Tensors some of whose elements are the same memory, and tensors with gaps, which kernels do not walk one by one: numpy's values."""

import numpy as np
import pytest

import opforge as torch

REDUCTIONS = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min, "all": np.all, "any": np.any,
    "norm": lambda x, axis: np.sqrt(np.sum(np.square(x.astype("float64")), axis)),
}
SHAPES = [((1, 5), (3, 5)), ((5, 1), (5, 3)), ((1, 1), (4, 7)), ((2, 1, 70), (2, 33, 70)), ((40, 1, 1), (40, 9, 5)), ((1, 3, 1), (6, 3, 1001)), ((0, 1), (0, 4)), ((1, 40000), (3, 40000))]


def numbers(shape, dtype):
    values = np.random.default_rng(len(shape)).integers(-3, 4, shape)
    return (np.abs(values) if np.dtype(dtype).kind in "ub" else values).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    reference = REDUCTIONS[name]
    for shape, expanded in SHAPES:
        x = numbers(shape, dtype)
        x = np.sign(x) if name == "prod" and dtype != "bool" else x
        t = torch.from_numpy(x).expand(*expanded)
        whole = np.broadcast_to(x, expanded)
        axes = [tuple(range(len(expanded)))] + [(d,) for d in range(len(expanded))] + ([(0, 2)] if len(expanded) == 3 else [])
        for axis in axes:
            if name in ("mean", "norm") and dtype in ("int64", "int32", "uint8", "bool"):
                continue
            if name in ("amax", "amin", "mean") and 0 in [expanded[d] for d in axis]:
                continue
            function = getattr(t, name)
            result = function(dim=axis) if name not in ("prod", "all", "any") else function(dim=axis[0]) if len(axis) == 1 else function()
            if name in ("prod", "all", "any") and 1 < len(axis) < len(expanded):
                continue
            expected = reference(whole.astype("float64") if name in ("mean", "norm") or dtype == "float16" and name in ("sum", "prod") else whole, axis=axis)
            np.testing.assert_allclose(result.numpy().astype("float64"), np.asarray(expected, "float64"), rtol=2e-3 if dtype == "float16" else 1e-6)


def test_a_sum_of_many_equal_numbers():
    """As exact as its parts: 0.1 is there a million times."""
    x = torch.full((1,), 0.1).expand(1_000_003)
    assert abs(x.sum().item() / (1_000_003 * np.float64(np.float32(0.1))) - 1) < 2e-7
    assert torch.full((1,), 3, dtype=torch.int64).expand(2**40).sum().item() == 3 * 2**40
    assert torch.full((1,), 2, dtype=torch.int64).expand(40).prod().item() == 2**40
    assert torch.full((1,), -2.0).expand(3).prod().item() == -8


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "float16", "bool"])
@pytest.mark.parametrize("step", [2, 3, 4, 5, 16])
def test_rows_with_gaps(dtype, step):
    """Extremes, their places and sums of every `step`-th column, along and across rows."""
    for rows, columns in [(3, 5), (40, 64), (7, 1500), (300, 33)]:
        x = numbers((rows, columns * step), dtype)
        t, x = torch.from_numpy(x)[:, ::step], x[:, ::step]
        for axis in (0, 1):
            np.testing.assert_array_equal(t.argmax(axis).numpy(), x.argmax(axis))
            np.testing.assert_array_equal(t.argmin(axis).numpy(), x.argmin(axis))
            np.testing.assert_array_equal(t.max(axis)[0].numpy(), x.max(axis))
            np.testing.assert_array_equal(t.sum(axis).numpy(), x.astype("float64").sum(axis) if dtype == "float16" else x.sum(axis))
        np.testing.assert_array_equal(t.tril(-1).numpy(), np.tril(x, -1))
        np.testing.assert_array_equal(t.triu(1).numpy(), np.triu(x, 1))
        np.testing.assert_array_equal(t.repeat_interleave(3, 1).numpy(), x.repeat(3, 1))


def test_take_of_a_few():
    """Without a copy of all: from views of any order, with indices from the end, and with gradients."""
    x = np.arange(6 * 7 * 8, dtype="float32").reshape(6, 7, 8)
    places = np.array([[0, 5, -1], [300, -336, 335]])
    for view, t in [(x.transpose(2, 0, 1), torch.from_numpy(x).permute(2, 0, 1)), (x[::2, :, ::3], torch.from_numpy(x)[::2, :, ::3]), (x.T, torch.from_numpy(x).permute(2, 1, 0))]:
        inside = places % view.size - (places < 0) * view.size
        np.testing.assert_array_equal(t.take(torch.from_numpy(inside)).numpy(), view.reshape(-1)[inside])
        for wrong in (view.size, -view.size - 1):
            with pytest.raises(IndexError):
                t.take(torch.tensor([wrong]))
    p = torch.from_numpy(x).requires_grad_()
    p.permute(2, 0, 1).take(torch.tensor([1, 1, 5])).sum().backward()
    grad = np.zeros((8, 6, 7), "float32")
    np.add.at(grad.reshape(-1), [1, 1, 5], 1)
    np.testing.assert_array_equal(p.grad.numpy(), grad.transpose(1, 2, 0))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "float64", "float32"])
def test_sorting_of_numbers_close_to_each_other(dtype):
    """Keys of 64 bits whose range is that of 32, whose range is larger by one, and rows that are sorted already."""
    rng = np.random.default_rng(2)
    low = 0 if dtype == "uint64" else -300
    rows = [rng.integers(low, 300, 5000), rng.integers(low, 300, 100), np.arange(3000), np.arange(3000)[::-1].copy(), np.zeros(2500), rng.integers(0, 2, 4000)]
    rows = [row.astype(dtype) for row in rows]
    if dtype == "int64":
        for span in (2**32 - 1, 2**32):
            rows.append(np.array([-2**62, -2**62 + span, 5 - 2**62] * 900, dtype))
        rows.append(np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, -1] * 700))
    if dtype == "float64":
        rows.append(np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 5e-324] * 500))
    for row in rows:
        for descending in (False, True):
            values, ids = torch.from_numpy(row).sort(stable=True, descending=descending)
            key = np.where(np.isnan(row), np.inf, row) if np.dtype(dtype).kind == "f" else row
            order = np.argsort(key, kind="stable") if not descending else len(row) - 1 - np.argsort(key[::-1], kind="stable")[::-1]
            if np.dtype(dtype).kind != "f" or not np.isnan(row).any():
                np.testing.assert_array_equal(ids.numpy(), order)
            np.testing.assert_array_equal(values.numpy(), row[ids.numpy()])
            forward = values.numpy() if not descending else values.numpy()[::-1]
            np.testing.assert_array_equal(forward, np.sort(row))
