"""Other forms of functions: in place or not, of a fixed size, in another order of memory, deprecated."""

import pytest

import opforge as torch


def test_places_that_are_not_zero_of_a_fixed_number():
    assert torch.nonzero_static(torch.tensor([0, 1, 2]), size=3).tolist() == [[1], [2], [-1]]
    assert torch.tensor([0, 1, 2]).nonzero_static(size=1, fill_value=7).tolist() == [[1]]


def test_forms_out_of_place_and_in_place():
    assert torch.put(torch.zeros(2, 2), torch.tensor([3, 3]), torch.tensor([1.0, 2.0]), True).tolist() == [[0, 0], [0, 3]]
    assert torch.fill(torch.ones(2), torch.tensor(3.0)).tolist() == [3, 3]
    assert torch.tensor([2.0], dtype=torch.float64).float_power_(3).tolist() == [8]
    with pytest.raises(RuntimeError, match="dtype"):
        torch.tensor([2.0]).float_power_(3)
    assert torch.tensor([1 + 2j]).conj_physical_().tolist() == [1 - 2j] and torch.ones(1).conj_physical_().tolist() == [1]


def test_dimensions_in_another_order_of_memory():
    assert torch.empty_permuted((2, 3, 4), (1, 0, 2)).stride() == (4, 8, 1)


def test_deprecated_functions():
    rows, upper = torch.arange(8.0).reshape(2, 4), torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    assert torch.allclose(upper @ torch.triangular_solve(rows, upper).solution, rows)
    assert torch.allclose(upper.T @ rows.triangular_solve(upper, transpose=True).solution, rows)
    with pytest.warns(UserWarning, match="range is deprecated"):
        assert torch.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
