"""What is computed with sparse tensors, against the same with dense ones: values, and gradients by the values and by the dense arguments."""

import math

import pytest

import opforge as torch

PLACES = torch.tensor([[0, 2, 1, 3, 0, 2, 2], [1, 0, 4, 2, 1, 0, 3]])
OTHERS = torch.tensor([[1, 0, 3], [4, 1, 2]])


def numbers(*shape, seed=0):
    """Different numbers, of both signs."""
    steps = torch.arange(math.prod(shape), dtype=torch.float64)
    return ((steps * 37 + 11 * seed) % 23 / 7 - 1.5).reshape(shape)


def dense_of(places, values, size=(4, 5)):
    """The dense tensor, through which gradients flow to the values."""
    return torch.zeros(size, dtype=values.dtype).index_put(tuple(places), values, accumulate=True)


# Each gets a sparse 4 x 5 matrix, another, and dense matrices of 5 x 3 and 4 x 5: those of the same numbers, dense, in the second call.
SAME = {
    "mm": lambda s, t, x, y: s @ x,
    "sparse_left": lambda s, t, x, y: torch.mm(s, x),
    "sparse_right": lambda s, t, x, y: y.t() @ s,
    "transposed": lambda s, t, x, y: s.t() @ y,
    "T": lambda s, t, x, y: s.T @ y,
    "mv": lambda s, t, x, y: s @ x[:, 0],
    "vm": lambda s, t, x, y: y[:, 0] @ s,
    "linear": lambda s, t, x, y: torch.nn.functional.linear(y, s),
    "addmm": lambda s, t, x, y: torch.addmm(y[:, :3], s, x, beta=2, alpha=3),
    "both_sparse": lambda s, t, x, y: s @ t.t(),
    "times_dense": lambda s, t, x, y: s * y,
    "dense_times": lambda s, t, x, y: y * s,
    "times_row": lambda s, t, x, y: s * y[:1],
    "times_sparse": lambda s, t, x, y: s * t,
    "times_number": lambda s, t, x, y: 3 * s / 2,
    "times_scalar": lambda s, t, x, y: s * y[0, 0],
    "plus": lambda s, t, x, y: s + t,
    "minus": lambda s, t, x, y: torch.sub(s, t, alpha=2),
    "dense_plus": lambda s, t, x, y: y + s,
    "dense_minus": lambda s, t, x, y: torch.sub(y, s, alpha=3),
    "negative": lambda s, t, x, y: -s,
    "sin": lambda s, t, x, y: s.sin(),
    "relu": lambda s, t, x, y: torch.relu(s),
    "square": lambda s, t, x, y: s**2,
    "floor_divide": lambda s, t, x, y: s // 0.7,
    "sum": lambda s, t, x, y: s.sum(),
    "sum_rows": lambda s, t, x, y: s.sum(0),
    "sum_columns": lambda s, t, x, y: s.sum(-1),
    "sum_kept": lambda s, t, x, y: s.sum(1, keepdim=True),
    "sum_all_kept": lambda s, t, x, y: s.sum((0, 1), keepdim=True),
    "norm": lambda s, t, x, y: s.norm(),
    "any": lambda s, t, x, y: s.any(),
    "permute": lambda s, t, x, y: s.permute(1, 0),
    "unsqueeze": lambda s, t, x, y: s.unsqueeze(1),
    "select": lambda s, t, x, y: s[2],
    "select_column": lambda s, t, x, y: s.select(1, -5),
    "element": lambda s, t, x, y: s[2, 0],
    "index_select": lambda s, t, x, y: s.index_select(0, torch.tensor([2, 0, 2])),
    "index_columns": lambda s, t, x, y: s.index_select(1, torch.tensor([0, 1, 0])),
    "narrow": lambda s, t, x, y: s.narrow_copy(1, 1, 3),
    "cat": lambda s, t, x, y: torch.cat([s, t, s]),
    "cat_columns": lambda s, t, x, y: torch.cat([s, t], -1),
    "stack": lambda s, t, x, y: torch.stack([s, t], 1),
    "unbind": lambda s, t, x, y: s.unbind()[0],
    "bmm": lambda s, t, x, y: torch.bmm(torch.stack([s, t]), torch.stack([x, 2 * x])),
    "double": lambda s, t, x, y: s.double(),
    "clone": lambda s, t, x, y: s.clone(),
}


def outcome(function, kind):
    """The result, dense, and the gradients of a weighted sum of it."""
    values, x, y = (numbers(*shape, seed=i).requires_grad_() for i, shape in enumerate([(7,), (5, 3), (4, 5)]))
    others = numbers(3, seed=5).requires_grad_()
    if kind == "dense":
        matrices = [dense_of(PLACES, values), dense_of(OTHERS, others)]
    else:
        matrices = [torch.sparse_coo_tensor(PLACES, values, (4, 5)), torch.sparse_coo_tensor(OTHERS, others, (4, 5))]
        matrices = [getattr(m, kind)() for m in matrices] if kind != "as it is" else matrices
    result = function(*matrices, x, y).to_dense()
    leaves = [leaf for leaf in (values, others, x, y)]
    if result.requires_grad:
        (result * numbers(*result.shape, seed=4)).sum().backward()
    return [result.detach(), *(torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("kind", ["as it is", "coalesce", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("name", SAME)
def test_results_and_gradients_are_those_of_dense_tensors(name, kind):
    for mine, other in zip(outcome(SAME[name], kind), outcome(SAME[name], "dense"), strict=True):
        torch.testing.assert_close(mine, other)


def test_functions_of_the_module():
    s, dense, x = torch.sparse_coo_tensor(PLACES, numbers(7), (4, 5)), dense_of(PLACES, numbers(7)), numbers(5, 3, seed=2)
    there = dense_of(PLACES, torch.ones(7)) > 0
    for matrix in (s, s.to_sparse_csr(), s.to_sparse_csc()):
        torch.testing.assert_close(torch.sparse.mm(matrix, x), dense @ x)
        torch.testing.assert_close(torch.sparse.addmm(x[:4], matrix, x, beta=2.0, alpha=0.5), 2 * x[:4] + dense @ x / 2)
        torch.testing.assert_close(torch.sparse.sum(matrix, 0).to_dense(), dense.sum(0))
        assert torch.sparse.sum(matrix, dtype=torch.float32).dtype == torch.float32
        for dim in (0, 1):
            weights = dense.masked_fill(~there, -math.inf).softmax(dim).nan_to_num()
            torch.testing.assert_close(torch.sparse.softmax(matrix, dim).to_dense(), weights)
            found = torch.sparse.log_softmax(matrix, dim).to_dense()
            torch.testing.assert_close(found[there], weights[there].log())
    product = numbers(4, 3) @ numbers(3, 5, seed=3)
    found = torch.sparse.sampled_addmm(s.coalesce(), numbers(4, 3), numbers(3, 5, seed=3), beta=2.0)
    torch.testing.assert_close(found.to_dense(), (product + 2 * dense).masked_fill(~there, 0))


def test_products_reduced_otherwise():
    matrix, x = torch.sparse_csr_tensor([0, 2, 3, 3], [0, 2, 1], [1.0, -2.0, 3.0], (3, 3)), torch.arange(6.0).reshape(3, 2)
    products = [torch.stack([x[0], -2 * x[2]]), torch.stack([3 * x[1]])]
    for name, reduce in (("mean", lambda p: p.mean(0)), ("amax", lambda p: p.amax(0)), ("amin", lambda p: p.amin(0))):
        expected = torch.stack([*map(reduce, products), torch.zeros(2)])
        assert torch.equal(torch.sparse.mm(matrix, x, name), expected)


def test_second_derivatives_of_products():
    def result(values, x):
        return torch.sparse_coo_tensor(PLACES, values * values, (4, 5)) @ x.sin()

    assert torch.autograd.gradgradcheck(result, (numbers(7).requires_grad_(), numbers(5, 3).requires_grad_()))


def test_products_made_in_parts_are_the_same(monkeypatch):
    from opforge.sparse import _products

    expected = outcome(SAME["mm"], "as it is")
    monkeypatch.setattr(_products, "_AT_ONCE", 6)
    for mine, other in zip(outcome(SAME["mm"], "as it is"), expected):
        torch.testing.assert_close(mine, other)


def test_values_with_dimensions():
    values = numbers(3, 2).requires_grad_()
    s = torch.sparse_coo_tensor([[0, 1, 1]], values, (2, 2))
    dense = torch.zeros(2, 2, dtype=torch.float64).index_add(0, torch.tensor([0, 1, 1]), values)
    for function in (
        lambda s: s + s, lambda s: s * s, lambda s: s * 2, lambda s: s.sum(0), lambda s: s.sum(1), lambda s: s[1], lambda s: s.unsqueeze(-1),
        lambda s: s.index_select(1, torch.tensor([0])), lambda s: torch.cat([s, s], 1), lambda s: s * torch.tensor([1.0, 3.0]), lambda s: s.sqrt().nan_to_num(),
    ):  # fmt: skip
        torch.testing.assert_close(function(s).to_dense(), function(dense))
    torch.testing.assert_close(torch.sparse.softmax(s, 1).to_dense(), dense.softmax(1))
    with pytest.raises(RuntimeError, match="t\\(\\) expects"):
        s.t()
    with pytest.raises(RuntimeError, match="2 sparse dimensions"):
        s @ torch.ones(2, 2)


def test_changes_in_place():
    s, other = torch.sparse_coo_tensor([[0]], [2.0], (2,)), torch.sparse_coo_tensor([[1]], [3.0], (2,))
    before = s
    s += other
    s.mul_(2).neg_()
    assert s is before and s.to_dense().tolist() == [-4.0, -6.0]
    dense = torch.ones(2)
    assert dense.add_(s, alpha=2) is dense and dense.tolist() == [-7.0, -11.0]
    assert s.zero_()._nnz() == 0 and s.copy_(other).to_dense().tolist() == [0.0, 3.0]
    with pytest.raises(RuntimeError, match="does not fit"):
        s.int().mul_(2.5)
    with pytest.raises(RuntimeError, match="between dense and sparse"):
        dense.copy_(s)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("add\\(sparse, dense\\) is not supported", lambda s, x: s + x),
        ("add\\(sparse, dense\\) is not supported", lambda s, x: s + 1),
        ("Sparse division requires", lambda s, x: s / x),
        ("cannot be multiplied", lambda s, x: s @ torch.ones(4, 1)),
        ("one dtype", lambda s, x: s @ torch.ones(3, 1, dtype=torch.float64)),
        ("cannot be broadcast", lambda s, x: s * torch.ones(2, 2, 3)),
        ("one shape", lambda s, x: s + s.t()),
        ("dense tensor was found at position 1", lambda s, x: torch.cat([s, x])),
        ("above 0", lambda s, x: s**0),
        ("indices from 0 to 1", lambda s, x: s.index_select(0, torch.tensor([2]))),
        ("out of range", lambda s, x: s.select(0, 2)),
        ("out of range", lambda s, x: s.sum(2)),
        ("sparse.sum: a sparse tensor expected", lambda s, x: torch.sparse.sum(x)),
        ("reduce is one of", lambda s, x: torch.sparse.mm(s, x.t(), "prod")),
    ],
)
def test_errors(text, call):
    with pytest.raises(RuntimeError, match=text):
        call(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)), torch.ones(2, 3))


def test_diagonals():
    rows = torch.arange(1, 10).reshape(3, 3)
    expected = [[1, 0, 9], [4, 2, 0], [0, 5, 3]]
    assert torch.sparse.spdiags(rows, torch.tensor([0, -1, 2]), (3, 3)).to_dense().tolist() == expected
    with pytest.raises(ValueError, match="different offsets"):
        torch.sparse.spdiags(rows, torch.tensor([0, 0, 2]), (3, 3))


def test_a_contingency_matrix():
    """As packages count pairs of labels."""
    predicted, target = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([1, 1, 0, 2, 1])
    counts = torch.sparse_coo_tensor(torch.stack([predicted, target]), torch.ones(5, dtype=torch.int64), (3, 3)).to_dense()
    assert counts.tolist() == [[0, 2, 0], [1, 0, 0], [0, 1, 1]]
