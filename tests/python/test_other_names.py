"""Names of PyTorch that are written in Python: copies of views, functions of layers in torch's own order, methods that exchange memory."""

import math
import warnings

import numpy as np
import pytest

import opforge as torch
from opforge.nn import functional as F

X = torch.arange(24.0).reshape(2, 3, 4)

COPIES = {
    "alias_copy": ((), lambda x: x),
    "as_strided_copy": (((2, 2), (1, 3), 2), lambda x: x.as_strided((2, 2), (1, 3), 2)),
    "detach_copy": ((), lambda x: x),
    "diagonal_copy": ((1, 1, 2), lambda x: x.diagonal(1, 1, 2)),
    "expand_copy": (((5, 2, 3, 4),), lambda x: x.expand(5, 2, 3, 4)),
    "permute_copy": (((2, 0, 1),), lambda x: x.permute(2, 0, 1)),
    "select_copy": ((1, 2), lambda x: x[:, 2]),
    "slice_copy": ((2, 1, 4, 2), lambda x: x[:, :, 1:4:2]),
    "squeeze_copy": ((), lambda x: x),
    "transpose_copy": ((0, 2), lambda x: x.transpose(0, 2)),
    "unfold_copy": ((2, 2, 1), lambda x: x.unfold(2, 2, 1)),
    "unsqueeze_copy": ((1,), lambda x: x[:, None]),
    "view_copy": (((6, 4),), lambda x: x.view(6, 4)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_memory_of_their_own(name):
    arguments, view = COPIES[name]
    x = X.clone()
    copy = getattr(torch, name)(x, *arguments)
    assert torch.equal(copy, view(x)) and copy.is_contiguous()
    x.zero_()
    assert copy.abs().sum().item() > 0


def test_copies_of_several_views():
    for found, expected in (
        (torch.split_copy(X, 2, 1), X.split(2, 1)),
        (torch.split_with_sizes_copy(X, [1, 2], 1), X.split([1, 2], 1)),
        (torch.unbind_copy(X, 1), X.unbind(1)),
        (X.unsafe_chunk(2, 1), X.chunk(2, 1)),
        (torch.unsafe_split(X, 2, 1), X.split(2, 1)),
        (X.unsafe_split_with_sizes([1, 2], 1), X.split([1, 2], 1)),
    ):
        assert len(found) == len(expected) and all(map(torch.equal, found, expected))
    assert torch.t_copy(X[0]).tolist() == X[0].T.tolist()
    assert torch.view_as_complex_copy(torch.view_as_real_copy(torch.tensor([1 + 2j]))).tolist() == [1 + 2j]
    leaf = torch.ones(2, 3, requires_grad=True)
    torch.transpose_copy(leaf, 0, 1).sum().backward()
    assert leaf.grad.tolist() == [[1, 1, 1]] * 2
    with pytest.raises(IndexError):
        torch.slice_copy(X, 3)


def test_as_strided_scatter_and_its_gradients():
    source = torch.tensor([[50.0, 60.0], [70.0, 80.0]])
    found = X[0].as_strided_scatter(source, (2, 2), (1, 3), 1)
    expected = X[0].clone()
    expected.view(-1)[torch.tensor([1, 4, 2, 5])] = torch.tensor([50.0, 60.0, 70.0, 80.0])
    assert torch.equal(found, expected)
    x, src = torch.rand(3, 4, dtype=torch.float64, requires_grad=True), torch.rand(2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, s: torch.as_strided_scatter(x, s, (2, 2), (4, 1)), (x, src))
    with pytest.raises(RuntimeError, match="exceed"):
        torch.as_strided_scatter(X[0], source, (2, 2), (10, 3), 1)


def test_functions_with_reductions_and_modes_as_numbers():
    logits, targets = torch.tensor([[0.5, -1.0]]), torch.tensor([[1.0, 0.25]])
    for number, word in enumerate(("none", "mean", "sum")):
        assert torch.equal(
            torch.binary_cross_entropy_with_logits(logits, targets, None, None, number),
            F.binary_cross_entropy_with_logits(logits, targets, reduction=word),
        )
        assert torch.equal(torch.poisson_nll_loss(logits, targets, True, False, 1e-8, number), F.poisson_nll_loss(logits, targets, reduction=word))
        if word != "mean":
            assert torch.equal(torch.kl_div(logits, targets, number), F.kl_div(logits, targets, reduction=word))
    scores, labels = torch.randn(4, 2, 3).log_softmax(2), torch.tensor([[1, 2], [1, 1]])
    assert torch.equal(torch.ctc_loss(scores, labels, [4, 4], [2, 1], 0, 2), F.ctc_loss(scores, labels, [4, 4], [2, 1], reduction="sum"))
    image, grid = torch.rand(1, 1, 3, 3), torch.affine_grid_generator(torch.tensor([[[1.0, 0, 0.2], [0, 1, 0.1]]]), [1, 1, 2, 2], False)
    assert torch.equal(torch.grid_sampler(image, grid, 1, 2, False), F.grid_sample(image, grid, "nearest", "reflection", False))
    for wrong in (lambda: torch.kl_div(logits, targets, 3), lambda: torch.grid_sampler(image, grid, 0, 3, False)):
        with pytest.raises(ValueError, match="expected 0 to 2"):
            wrong()


def test_norms_return_their_statistics():
    x, weight, bias = torch.randn(2, 4, 3), torch.rand(4), torch.rand(4)
    running = torch.zeros(4), torch.ones(4)
    output, mean, scale = torch.native_batch_norm(x, weight, bias, *running, True, 0.1, 1e-5)
    data = x.transpose(0, 1).flatten(1).numpy()
    np.testing.assert_allclose(mean.numpy(), data.mean(1), atol=1e-6)
    np.testing.assert_allclose(scale.numpy(), 1 / np.sqrt(data.var(1) + 1e-5), rtol=1e-4)
    assert torch.equal(output, torch.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False)) and running[0].abs().sum().item() > 0
    output, mean, scale = torch.native_layer_norm(x, [4, 3], None, None, 1e-5)
    assert mean.shape == scale.shape == (2, 1, 1) and torch.allclose((x - mean) * scale, output, atol=1e-5)
    output, mean, scale = torch.native_group_norm(x, weight, bias, 2, 4, 3, 2, 1e-5)
    assert mean.shape == (2, 2) and torch.equal(output, torch.group_norm(x, 2, weight, bias))
    assert torch.equal(torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False), F.instance_norm(x))
    with pytest.raises(RuntimeError, match="N \\* C \\* HxW"):
        torch.native_group_norm(x, None, None, 2, 4, 4, 2, 1e-5)


def test_dropouts():
    output, mask = torch.native_dropout(torch.ones(2000), 0.25, None)
    assert torch.allclose(output, mask / 0.75) and 1350 < mask.sum().item() < 1650
    assert torch.native_dropout(X, 0.5, False)[1].all().item() and torch.native_dropout(X, 1.0, True)[0].sum().item() == 0
    for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"):
        x = torch.ones(20, 30, 2)
        assert getattr(torch, name)(x, 0.5, False) is x and x.sum().item() == 1200
        assert getattr(torch, name)(x, 0.5, True) is x and len(x.unique()) == 2
    assert (x[:, :, 0] == x[:, :, 1]).all().item()


def test_embeddings():
    weight, places = torch.arange(15.0).reshape(5, 3), torch.tensor([[0, 4], [2, 2]])
    assert torch.equal(torch.embedding(weight, places), weight[places])
    trained = weight.clone().requires_grad_()
    torch.embedding(trained, places, 2).sum().backward()
    assert trained.grad.sum(1).tolist() == [3, 0, 0, 0, 3]
    scaled = weight.clone()
    assert torch.embedding_renorm_(scaled, places, 5.0, 2.0) is scaled
    norms = np.linalg.norm(weight.numpy(), axis=1)
    expected = np.where(np.isin(np.arange(5), [0, 2, 4]), np.minimum(norms, 5), norms)
    np.testing.assert_allclose(np.linalg.norm(scaled.numpy(), axis=1), expected, rtol=1e-5)


def test_more_functions():
    time, kernel, bias = torch.randn(5, 2, 3), torch.randn(2, 3, 4), torch.randn(4)
    expected = F.conv1d(time.permute(1, 2, 0), kernel.permute(2, 1, 0), bias, padding=1).permute(2, 0, 1)
    assert torch.equal(torch.conv_tbc(time, kernel, bias, 1), expected)
    matrix = torch.randn(3, 4)
    assert abs(torch.nuclear_norm(matrix).item() - np.linalg.norm(matrix.numpy(), "nuc")) < 1e-4
    assert abs(torch.frobenius_norm(matrix).item() - np.linalg.norm(matrix.numpy())) < 1e-5
    assert torch.constant_pad_nd(torch.ones(1), (1, 2), 5).tolist() == [5, 1, 5, 5]
    draws = torch.binomial(torch.full((4000,), 10.0), torch.full((4000,), 0.3))
    assert abs(draws.mean().item() - 3) < 0.15 and abs(draws.var().item() - 2.1) < 0.3
    assert torch.binomial(torch.tensor([3.0, 0.0]), torch.tensor([1.0, 0.5])).tolist() == [3, 0]
    assert torch.nonzero_static(torch.tensor([0, 1, 2]), size=3).tolist() == [[1], [2], [-1]]
    assert torch.tensor([0, 1, 2]).nonzero_static(size=1, fill_value=7).tolist() == [[1]]
    assert torch.put(torch.zeros(2, 2), torch.tensor([3, 3]), torch.tensor([1.0, 2.0]), True).tolist() == [[0, 0], [0, 3]]
    assert torch.fill(torch.ones(2), torch.tensor(3.0)).tolist() == [3, 3]
    assert torch.empty_permuted((2, 3, 4), (1, 0, 2)).stride() == (4, 8, 1)
    assert torch.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3).tolist() == pytest.approx([-0.2, 2.0])
    upper = torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    assert torch.allclose(upper @ torch.triangular_solve(X[0, :2], upper).solution, X[0, :2])
    assert torch.allclose(upper.T @ X[0, :2].triangular_solve(upper, transpose=True).solution, X[0, :2])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert torch.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    assert caught and caught[0].category is UserWarning


def test_resize():
    x = torch.arange(6.0)
    view = x.view(2, 3)
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    x.fill_(9)
    assert view.tolist() == [[9, 9, 9], [9, 4, 5]]
    assert x.resize_(3, 3).view(-1)[:6].tolist() == [9, 9, 9, 9, 4, 5]
    assert torch.arange(6.0).reshape(2, 3).T.resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.arange(6).resize_as_(torch.ones(2, 3)).shape == (2, 3) and torch.empty(0).resize_([]).shape == ()
    for wrong in (lambda: torch.ones(2).resize_(-1), lambda: torch.ones(2, requires_grad=True).resize_(1), lambda: torch.ones(2).resize(3)):
        with pytest.raises(RuntimeError):
            wrong()


def test_resize_knows_row_major_order_alone():
    assert torch.ones(2, 2).resize_(4, memory_format=torch.contiguous_format).shape == (4,)
    with pytest.raises(NotImplementedError, match="channels_last"):
        torch.ones(2).resize_(1, 1, 1, 2, memory_format=torch.channels_last)


def test_set_shares_memory():
    source, x = torch.arange(6.0).reshape(2, 3), torch.empty(0)
    assert x.set_(source) is x and x.is_set_to(source) and not x.is_set_to(source.clone())
    x[0, 0] = 50
    assert source[0, 0].item() == 50
    assert x.set_(source, 1, (2, 2), (1, 2)).tolist() == [[1, 3], [2, 4]]
    assert x.set_().shape == (0,)
    assert source.as_strided_((2, 2), (1, 2)) is source and source.tolist() == [[50, 2], [1, 3]]
    with pytest.raises(RuntimeError, match="dtype"):
        x.set_(torch.ones(2, dtype=torch.int64))
    with pytest.raises(TypeError):
        x.set_("memory")


def test_methods_with_python_functions():
    assert torch.tensor([1.0, 4.0]).apply_(math.sqrt).tolist() == [1, 2]
    assert torch.ones(2, 2).map_(torch.tensor([1.0, 2.0]), lambda a, b: a + b).tolist() == [[2, 3], [2, 3]]
    assert torch.ones(2).map2_(torch.tensor([1.0, 2.0]), torch.tensor([5.0]), lambda a, b, c: a + b * c).tolist() == [6, 11]
    with pytest.raises(RuntimeError, match="gradient"):
        torch.ones(2, requires_grad=True).apply_(abs)


def test_small_methods():
    assert torch.tensor([2.0], dtype=torch.float64).float_power_(3).tolist() == [8]
    with pytest.raises(RuntimeError, match="dtype"):
        torch.tensor([2.0]).float_power_(3)
    assert torch.tensor([1 + 2j]).conj_physical_().tolist() == [1 - 2j] and torch.ones(1).conj_physical_().tolist() == [1]
    assert torch.ones(1).cfloat().dtype == torch.complex64 and torch.ones(1).cdouble().dtype == torch.complex128
    assert torch.tensor([2]).is_nonzero() and not torch.is_nonzero(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch.ones(2).is_nonzero()
    assert torch.ones(2).new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert torch.is_signed(torch.ones(1)) and not torch.is_signed(torch.ones(1, dtype=torch.uint8)) and not torch.is_conj(torch.ones(1))
    assert torch.ones(2).module_load(torch.zeros(2)).tolist() == [0, 0]
    assert X[0].lu()[0].shape == (3, 4) and X[0].geqrf().tau.shape == (3,)
    assert torch.Tensor.resize_.__doc__


def test_products_of_groups():
    rows, matrices = torch.randn(10, 3), torch.randn(2, 3, 4)
    ends = torch.tensor([4, 8], dtype=torch.int32)
    found = F.grouped_mm(rows, matrices, offs=ends)
    assert torch.equal(found, torch.cat([rows[:4] @ matrices[0], rows[4:8] @ matrices[1], torch.zeros(2, 4)]))
    assert torch.equal(torch._grouped_mm(matrices, matrices.mT), matrices @ matrices.mT)
    columns = torch.randn(4, 10)
    found = F.grouped_mm(matrices, columns, offs=ends)
    assert torch.equal(found, torch.cat([matrices[0] @ columns[:, :4], matrices[1] @ columns[:, 4:8], torch.zeros(3, 2)], 1))
    found = F.grouped_mm(rows.T, rows, offs=ends)
    assert torch.equal(found, torch.stack([rows[:4].T @ rows[:4], rows[4:8].T @ rows[4:8]]))
    for wrong in (
        lambda: F.grouped_mm(rows, matrices),
        lambda: F.grouped_mm(rows, matrices, offs=ends.long()),
        lambda: F.grouped_mm(rows, matrices, offs=ends[:1]),
        lambda: F.grouped_mm(rows, matrices, offs=torch.tensor([8, 4], dtype=torch.int32)),
        lambda: F.grouped_mm(rows, matrices, offs=torch.tensor([8, 11], dtype=torch.int32)),
        lambda: F.grouped_mm(rows, matrices.mT, offs=ends),
        lambda: F.grouped_mm(rows, matrices, offs=ends, bias=ends),
    ):
        with pytest.raises(RuntimeError, match="grouped_mm"):
            wrong()


def test_pooling_with_indices():
    x = torch.randn(1, 2, 4, 4)
    values, places = F.adaptive_max_pool2d_with_indices(x, 2, return_indices=False)
    assert torch.equal(values, F.adaptive_max_pool2d(x, 2)) and torch.equal(x.flatten(2).gather(2, places.flatten(2)), values.flatten(2))
    assert len(F.fractional_max_pool2d_with_indices(x, 2, output_size=2)) == 2


def test_packed_sequences_convert():
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    for name, dtype in (("int", torch.int32), ("short", torch.int16), ("char", torch.int8), ("byte", torch.uint8), ("double", torch.float64)):
        converted = getattr(packed, name)()
        assert converted.data.dtype == dtype and converted.batch_sizes is packed.batch_sizes
    assert not packed.is_cuda and not packed.is_pinned()


def test_singular_matrices_raise_linalg_errors():
    for call in (lambda: torch.linalg.inv(torch.zeros(2, 2)), lambda: torch.linalg.cholesky(-torch.eye(2))):
        with pytest.raises(torch.linalg.LinAlgError):
            call()
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    for call in (lambda: torch.linalg.inv(torch.zeros(2, 3)), lambda: torch.linalg.norm(torch.zeros(2, 2), "no norm")):
        with pytest.raises(RuntimeError) as raised:
            call()
        assert not isinstance(raised.value, torch.linalg.LinAlgError)
