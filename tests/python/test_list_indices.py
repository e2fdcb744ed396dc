"""Lists as indices: short ones with a part that is more than a number stand for tuples; all others are rows of numbers."""

import numpy as np
import pytest

import opforge as torch

X = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([0, 2], [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]),
        ([[0, 1], [1, 2]], [1.0, 6.0]),
        ([[0, 1], slice(2)], [[0.0, 1.0], [4.0, 5.0]]),
        ([slice(1), 2], [2.0]),
        ([..., 3], [3.0, 7.0, 11.0]),
        ([None, 2], [[8.0, 9.0, 10.0, 11.0]]),
        ([torch.tensor([0, 1]), [1, 2]], [1.0, 6.0]),
        ([np.array([0, 1]), np.array([1, 2])], [1.0, 6.0]),
        ([np.int64(2)], [[8.0, 9.0, 10.0, 11.0]]),
        ([True, False, True], [[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]),
        (([[0, 1], [1, 2]],), X[torch.tensor([[0, 1], [1, 2]])].tolist()),
    ],
)
def test_what_a_list_selects(index, expected):
    assert X[index].tolist() == expected


def test_a_long_list_is_rows_of_numbers():
    index = [[0, 1]] * 32
    assert X[index].shape == (32, 2, 4)
    with pytest.raises(IndexError):
        X[index[:31]]


def test_what_a_list_writes():
    x = X.clone()
    x[[[0, 1], [1, 2]]] = -1.0
    assert (x < 0).nonzero().tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("one", [1, np.int64(1), np.uint8(1), np.array(1), torch.tensor(1), torch.tensor(1, dtype=torch.int32)])
def test_numbers_of_any_kind_select_views(one):
    """Tensors and numbers of numpy's copied what they selected: what was written to it was lost."""
    x = torch.zeros(3, 2)
    x[one].add_(1)
    x[:, one][one] += 1
    x[..., one].mul_(2)
    assert x.tolist() == [[0.0, 0.0], [1.0, 4.0], [0.0, 0.0]] and x[one].data_ptr() == x[1].data_ptr()
    w = torch.ones(3, 2, requires_grad=True)
    y = w * 1
    y[one].mul_(2)
    y.sum().backward()
    assert w.grad.tolist() == [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]]
    with pytest.raises(IndexError):
        torch.zeros(1)[one]


def test_tensors_are_indices_in_graphs():
    f = torch.compile(lambda x, i: x[i] * 2, fullgraph=True)
    assert [f(X, torch.tensor(i)).tolist() for i in (0, 2)] == [(X[i] * 2).tolist() for i in (0, 2)]
