"""In which order the dimensions of elementwise results lie: as NumPy's (`order="K"`), and as PyTorch's where arguments contradict each other or repeat elements."""

import numpy as np
import pytest

import opforge as torch

UNARY = {
    "neg": (np.negative, lambda x: -x),
    "add a number": (lambda x: x + 1, lambda x: x + 1),
    "compare": (lambda x: x > 0, lambda x: x > 0),
    "cast": (lambda x: x.astype("float64"), lambda x: x.double()),
    "clone": (lambda x: x.copy(order="K"), lambda x: x.clone()),
    "zeros_like": (np.zeros_like, torch.zeros_like),
    "rand_like": (np.zeros_like, lambda x: torch.rand_like(x) * 0),
    "randn_like": (np.zeros_like, lambda x: torch.randn_like(x) * 0),
    "randint_like": (np.zeros_like, lambda x: torch.randint_like(x, 1)),
    "full_like": (lambda x: np.full_like(x, 3), lambda x: torch.full_like(x, 3)),
    "clamp": (lambda x: np.clip(x, -1, 1), lambda x: x.clamp(-1, 1)),
    "twice flipped": (lambda x: x.copy(order="K"), lambda x: x.flip(0).flip(0)),
    "dropout": (lambda x: x * 0, lambda x: torch.nn.functional.dropout(x, 0.5) * 0),
    "copied gradient": (np.ones_like, lambda x: gradient(x.clone().requires_grad_())),
}
BINARY = {
    "add": (np.add, torch.add),
    "maximum": (np.maximum, torch.maximum),
    "less": (np.less, torch.lt),
    "where": (lambda x, y: np.where(x > y, x, y), lambda x, y: torch.where(x > y, x, y)),
    "three": (lambda x, y: x + x * y, lambda x, y: torch.addcmul(x, x, y)),
}


def gradient(x):
    x.sum().backward()
    return x.grad


def views(rng):
    """Views of all kinds: any order of dimensions, gaps, repeated dimensions, lengths of one and none."""
    for _ in range(120):
        shape = rng.integers(0 if rng.random() < 0.1 else 1, 5, rng.integers(0, 5))
        x = rng.integers(-4, 5, shape * 2).astype("float32")
        cut = tuple(slice(None, n) if rng.random() < 0.7 else slice(1, n + 1) for n in shape)
        x = np.ascontiguousarray(x[cut]) if rng.random() < 0.7 else x[cut]
        x = x.transpose(rng.permutation(x.ndim))
        if rng.random() < 0.3:
            x = np.broadcast_to(x[..., None], x.shape + (3,)).transpose(rng.permutation(x.ndim + 1))
        yield x


def tensor(x):
    """The same view: strides and all."""
    base = x if x.base is None else x.base
    while base.base is not None:
        base = base.base
    start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    flat = torch.from_numpy(np.ascontiguousarray(base).reshape(-1))
    return torch.as_strided(flat, x.shape, [s // 4 for s in x.strides], start // 4)


def assert_same(result, expected, *arguments):
    expected = np.asarray(expected)
    np.testing.assert_array_equal(result.numpy(), expected)
    if any(0 in x.strides for x in arguments):
        return
    steps = [s // expected.itemsize for s in expected.strides]
    long = [d for d in range(expected.ndim) if expected.shape[d] > 1]
    if expected.size:
        assert [result.stride()[d] for d in long] == [steps[d] for d in long]


@pytest.mark.parametrize("name", UNARY)
def test_one_argument(name):
    reference, function = UNARY[name]
    for x in views(np.random.default_rng(3)):
        if name == "twice flipped" and x.ndim == 0:
            continue
        assert_same(function(tensor(x)), reference(x), x)


@pytest.mark.parametrize("name", BINARY)
def test_two_arguments(name):
    """Of one order, or of which one has dimensions that are repeated."""
    reference, function = BINARY[name]
    rng = np.random.default_rng(5)
    for x in views(rng):
        other = x if rng.random() < 0.4 else x[tuple(slice(0, 1) if rng.random() < 0.5 else slice(None) for _ in x.shape)]
        other = other if rng.random() < 0.7 or x.ndim == 0 else other[0]
        for a, b in [(x, other), (other, x)]:
            # NumPy's `where` does not keep the order of dimensions.
            expected = np.asarray(reference(a, b))
            expected = (a + b) * 0 + expected if name == "where" else expected
            assert_same(function(tensor(a), tensor(b)), expected, a, b)


def test_contradictions():
    """The first argument decides that moves along both dimensions."""
    x, y, row = torch.zeros(3, 4).t(), torch.zeros(4, 3), torch.zeros(3)
    column = torch.zeros(4, 1)
    assert (x + y).stride() == (1, 4) and (y + x).stride() == (3, 1)
    assert (row + x).stride() == (1, 4) and (column + x + y).stride() == (1, 4)
    assert torch.where(y > 0, x, x).stride() == (3, 1)
    assert torch.where(row > 0, x, y).stride() == (1, 4)
    assert x.clone(memory_format=torch.contiguous_format).stride() == (3, 1)
    assert torch.empty_like(x, memory_format=torch.contiguous_format).stride() == (3, 1)
    assert x.contiguous().stride() == (3, 1)


def test_repeated_elements():
    """They say nothing of where their dimension lies: it stays before those that are written before it."""
    assert (-torch.zeros(3, 1).expand(3, 4)).stride() == (4, 1)
    assert (-torch.zeros(2, 4).t().unsqueeze(1).expand(4, 3, 2)).stride() == (1, 4, 12)
    assert torch.zeros(4).expand(2, 3, 4).clone().stride() == (12, 4, 1)


def test_channels_last():
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    scale = torch.randn(3, 1, 1)
    for result in (x * scale, scale + x, torch.relu(x), x.clone(), torch.where(x > 0, x, 0.0), torch.rand_like(x)):
        assert result.is_contiguous(memory_format=torch.channels_last)
