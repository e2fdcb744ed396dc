"""Tensors without elements and of lengths of 1: what takes them has gradients too, without elements or of zeros."""

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F
from test_registry import call, each, floats, leaves, mapped, tensors
from test_zero_gradients import DIFFERENTIABLE, REFUSED, UNREAD

NOTHING = torch.empty(0, dtype=torch.int64)

# A function may refuse empty inputs; if it takes them, backward does too.


def cut(case, dim, only_first):
    """The arguments with nothing along a dimension: of all arrays that have it, or of the first only."""
    seen = []

    def cut_one(array):
        seen.append(array)
        shortened = array.ndim > dim and not (only_first and len(seen) > 1)
        return np.ascontiguousarray(array[(slice(None),) * dim + (slice(0, 0),)]) if shortened else array

    return mapped(case.args, cut_one)


@each([case for case in DIFFERENTIABLE if case.name not in UNREAD | REFUSED])
def test_backward_of_empty_inputs(case):
    most = max(a.ndim for a in leaves(list(case.args)) if isinstance(a, np.ndarray))
    for dim, only_first in [(dim, only_first) for dim in range(most) for only_first in (False, True)]:
        args = tensors(cut(case, dim, only_first))
        inputs = [t.requires_grad_() for t in floats(args)]
        try:
            results = leaves(call(case, args))
        except (RuntimeError, IndexError, ValueError, TypeError):
            continue
        results = [leaf for leaf in results if isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())]
        if not results:
            continue
        assert all(leaf.requires_grad for leaf in results), (dim, only_first)
        sum((leaf.abs() if leaf.is_complex() else leaf).sum() for leaf in results).backward()
        for i in inputs:
            assert i.grad is not None and i.grad.shape == i.shape, (dim, only_first)


# Named cases


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


@pytest.mark.parametrize(
    "shapes, dim",
    [([(0,), (3,)], 0), ([(0,), (2, 3)], 1), ([(2, 0), (2, 3)], 1), ([(3,), (0,), (0,)], 0), ([(0,), (0,)], 0)],
)
@pytest.mark.parametrize("join", [torch.cat, torch.concat])
def test_parts_without_elements_have_gradients(join, shapes, dim):
    parts = [leaf(*shape) for shape in shapes]
    joined = join(parts, dim)
    joined.sum().backward()
    assert [part.grad.tolist() for part in parts] == [torch.ones(shape).tolist() for shape in shapes]


def test_part_without_elements_alone_requires_grad():
    assert torch.cat([leaf(0), torch.ones(3)]).requires_grad
    assert not torch.cat([torch.ones(0), torch.ones(3)]).requires_grad


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigvalsh", "svdvals", "matrix_exp", "pinv", "matrix_sqrth", "norm"])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_functions_of_matrices_without_elements(name, shape):
    x = leaf(*shape)
    torch.autograd.backward(getattr(torch.linalg, name)(x).sum())
    assert x.grad.shape == shape


@pytest.mark.parametrize("shape, ord, dim", [((0, 4), 2, (-2, -1)), ((0, 4), np.inf, (0, 1)), ((0, 4), 1, (-1, -2)), ((4, 0), 1, (-2, -1)), ((0, 0), 2, (1, 0))])
def test_greatest_of_no_sums_and_singular_values_is_0(shape, ord, dim):
    x = leaf(*shape)
    for norm in (torch.linalg.matrix_norm, torch.linalg.norm):
        result = norm(x, ord, dim=dim)
        result.backward()
        assert (result.item(), x.grad.shape) == (0, shape) and norm(x, ord, dim=dim, keepdim=True).shape == (1, 1)
        with pytest.raises(RuntimeError):
            norm(x, -ord, dim=dim)
    assert torch.linalg.matrix_norm(torch.zeros(0, 3, 2), 2, dim=(0, 1)).tolist() == [0, 0]


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_condition_numbers_of_matrices_without_elements(p):
    for dtype in (torch.float32, torch.complex64):
        found = torch.linalg.cond(torch.zeros(2, 0, 0, dtype=dtype), p)
        assert found.tolist() == [0, 0] and found.dtype == torch.float32
        assert torch.linalg.cond(torch.zeros(0, 2, 2, dtype=dtype), p).shape == (0,)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 3), (0, 2, 2), (2, 3, 0)])
def test_factors_without_elements_need_no_pivots(shape):
    *lead, m, n = shape
    least, x = min(m, n), torch.zeros(shape)
    LU, pivots = torch.linalg.lu_factor(x, pivot=False)
    assert (LU.shape, pivots.shape, pivots.dtype) == (shape, (*lead, least), torch.int32)
    P, L, U = torch.linalg.lu(x, pivot=False)
    assert (P.shape, L.shape, U.shape) == ((0,), (*lead, m, least), (*lead, least, n))
    with pytest.raises(ValueError):
        torch.linalg.lu(torch.ones(2, 2), pivot=False)


@pytest.mark.parametrize("lead", [(0, 2), (2, 0), (0,)])
def test_fractional_pooling_of_no_images(lead):
    x = leaf(*lead, 5, 5)
    F.fractional_max_pool2d(x, 2, output_size=3).sum().backward()
    assert x.grad.shape == x.shape
    values, places = F.fractional_max_pool3d(torch.zeros(*lead, 5, 6, 7), 2, output_size=(3, 4, 5), return_indices=True)
    assert values.shape == places.shape == (*lead, 3, 4, 5)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_of_no_sequences(batch_first, need_weights):
    x = leaf(0, 3, 4) if batch_first else leaf(3, 0, 4)
    output, weights = torch.nn.MultiheadAttention(4, 2, batch_first=batch_first)(x, x, x, need_weights=need_weights)
    output.sum().backward()
    assert output.shape == x.grad.shape == x.shape and (weights is None or weights.shape == (0, 3, 3))


def test_group_norm_of_no_samples_with_its_means():
    assert [part.shape for part in torch.native_group_norm(torch.zeros(0, 4, 3), None, None, 0, 4, 3, 2, 1e-5)] == [(0, 4, 3), (0, 2), (0, 2)]


@pytest.mark.parametrize("shape", [(0,), (0, 0), (2, 0), (5, 0), (0, 2, 0)])
def test_gather_and_scatter_by_an_index_without_elements(shape):
    x, index = leaf(2, 3), torch.empty(shape, dtype=torch.int64)
    result = torch.gather(x, 1, index)
    assert result.shape == shape and result.dtype is x.dtype
    result.sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2
    source = leaf(2, 3)
    ways = [
        lambda x: x.scatter(1, index, source),
        lambda x: x.scatter(1, index, 1.0),
        lambda x: x.scatter_add(1, index, source),
        lambda x: x.scatter_reduce(1, index, source, "amax"),
        lambda x: x.scatter_reduce(1, index, source, "mean", include_self=False),
    ]
    for way in ways:
        x = leaf(2, 3)
        result = way(x)
        assert torch.equal(result, x) and result.data_ptr() != x.data_ptr()
        result.sum().backward()
        assert x.grad.tolist() == [[1.0] * 3] * 2
    assert source.grad is None or not source.grad.any()


def test_gather_from_a_scalar_by_nothing():
    assert torch.gather(torch.tensor(3.0), 0, NOTHING).shape == (0,)


@pytest.mark.parametrize(
    "a, b, dims, shape, value",
    [
        ((2, 1), (3, 4), 1, (2, 4), 3.0),
        ((2, 3), (1, 4), 1, (2, 4), 3.0),
        ((2, 1), (3, 4), ([1], [0]), (2, 4), 3.0),
        ((2, 1), (3, 4), ([-1], [-2]), (2, 4), 3.0),
        ((2, 1, 3), (5, 3, 4), 2, (2, 4), 15.0),
        ((2, 0), (1, 4), 1, (2, 4), 0.0),
        ((2, 1), (1, 4), 1, (2, 4), 1.0),
    ],
)
def test_tensordot_stretches_lengths_of_1(a, b, dims, shape, value):
    x, y = leaf(*a), leaf(*b)
    result = torch.tensordot(x, y, dims)
    assert result.shape == shape and (result == value).all()
    result.sum().backward()
    assert (x.grad.shape, y.grad.shape) == (a, b)


def test_tensordot_keeps_the_dtype_and_refuses_other_lengths():
    assert torch.tensordot(torch.ones(2, 1, dtype=torch.int32), torch.ones(3, 4, dtype=torch.int32), 1).dtype is torch.int32
    with pytest.raises(torch.ShapeError):
        torch.tensordot(torch.ones(2, 2), torch.ones(3, 4), 1)
    with pytest.raises(torch.ShapeError):
        torch.inner(torch.ones(2, 1), torch.ones(3, 4))


def test_embedding_of_a_scalar_and_of_nothing():
    w = leaf(3, 2)
    assert F.embedding(torch.tensor(1), w, max_norm=None).shape == (2,)
    rows = F.embedding(NOTHING, w, padding_idx=0)
    rows.sum().backward()
    assert rows.shape == (0, 2) and w.grad.tolist() == [[0.0, 0.0]] * 3
    assert F.embedding(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, 0)).shape == (2, 0, 0)


def test_embedding_bag_of_no_bags():
    w = leaf(3, 2)
    bags = F.embedding_bag(NOTHING, w, NOTHING)
    bags.sum().backward()
    assert bags.shape == (0, 2) and w.grad.tolist() == [[0.0, 0.0]] * 3
    with pytest.raises(torch.ArgumentError):
        F.embedding_bag(torch.tensor([1]), w, NOTHING)


@pytest.mark.parametrize("shape", [(0, 2), (0, 2, 3), (2, 2, 0)])
def test_batch_norm_of_nothing_leaves_its_averages_alone(shape):
    module = torch.nn.BatchNorm1d(2)
    x = leaf(*shape)
    y = module(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == shape
    assert (module.running_mean.tolist(), module.running_var.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert module.weight.grad.tolist() == module.bias.grad.tolist() == [0.0, 0.0]
    module.eval()(x).sum().backward()
    assert F.batch_norm(x, None, None, training=True).shape == shape


def test_batch_norm_of_a_vector_of_nothing_and_of_one_value():
    assert F.batch_norm(torch.ones(0), None, None, training=True).shape == (0,)
    with pytest.raises(ValueError, match="more than one value"):
        F.batch_norm(torch.ones(1, 2), None, None, training=True)
    for scalar in (torch.tensor(1.0), torch.ones(3)):
        with pytest.raises(torch.ShapeError):
            F.batch_norm(scalar, None, None, training=True)


def test_instance_norm_of_nothing():
    x = leaf(2, 3, 0)
    F.instance_norm(x).sum().backward()
    assert x.grad.shape == (2, 3, 0)
    with pytest.raises(ValueError):
        F.instance_norm(torch.ones(2, 3, 1))


def test_vander_of_a_scalar_and_of_nothing():
    assert torch.linalg.vander(torch.tensor(2), N=3).tolist() == [[1, 2, 4]]
    assert torch.linalg.vander(torch.empty(2, 0), N=3).shape == (2, 0, 3)
    assert torch.vander(torch.empty(0)).shape == (0, 0)
    x = leaf(0)
    torch.vander(x, 3).sum().backward()
    assert x.grad.shape == (0,)
    with pytest.raises(torch.ShapeError):
        torch.vander(torch.tensor(2.0))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "cummax"])
def test_2_to_the_32_rows_without_elements_run_no_kernel(name, dim):
    # Minutes, if a kernel went over the rows.
    x = torch.zeros(65536, 65536, 0, requires_grad=True)
    y = getattr(torch, name)(x, dim)
    y = y[0] if isinstance(y, tuple) else y
    y.sum().backward()
    assert y.shape == x.grad.shape == (65536, 65536, 0)
