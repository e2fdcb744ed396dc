"""Functions of layers in PyTorch's own order: statistics beside results, modes and reductions as numbers, gradients as functions."""

import numpy as np
import pytest

import opforge as torch
from opforge import nn
from opforge.nn import functional as F

X = torch.arange(24.0).reshape(2, 3, 4)


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


def test_pooling_with_indices():
    x = torch.randn(1, 2, 4, 4)
    values, places = F.adaptive_max_pool2d_with_indices(x, 2, return_indices=False)
    assert torch.equal(values, F.adaptive_max_pool2d(x, 2)) and torch.equal(x.flatten(2).gather(2, places.flatten(2)), values.flatten(2))
    assert len(F.fractional_max_pool2d_with_indices(x, 2, output_size=2)) == 2


def test_gradients_of_named_rows_are_shared():
    ids = torch.tensor([0, 2, 2, 2])
    for padding in (None, 0):
        weight = torch.ones(3, 2, requires_grad=True)
        torch.nn.functional.embedding(ids, weight, padding, scale_grad_by_freq=True).sum().backward()
        np.testing.assert_allclose(weight.grad.numpy()[:, 0], [padding is None, 0, 1], rtol=1e-6)
    weight = torch.ones(3, 2, requires_grad=True)
    torch.nn.functional.embedding_bag(ids, weight, torch.tensor([0, 2]), mode="sum", scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy()[:, 0], [1, 0, 1], rtol=1e-6)


def test_segments_under_their_older_name():
    x, lengths = torch.tensor([1.0, 5.0, 2.0]), torch.tensor([2, 1])
    for older, name in (("amax", "max"), ("amin", "min"), ("sum", "sum")):
        assert torch.equal(torch._segment_reduce(x, older, lengths=lengths, unsafe=True), torch.segment_reduce(x, name, lengths=lengths))


def test_gradients_of_softmax_by_their_names():
    x, grad = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.tensor([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]])
    for function, backward in (torch.softmax, torch._softmax_backward_data), (torch.log_softmax, torch._log_softmax_backward_data):
        x.grad = None
        y = function(x, 1)
        y.backward(grad)
        assert torch.allclose(backward(grad, y.detach(), 1, torch.float32), x.grad, atol=1e-6)


def test_gradients_of_convolutions_as_functions():
    x, weight = torch.arange(40.0).reshape(1, 2, 20).sin().requires_grad_(), torch.arange(12.0).reshape(2, 2, 3).cos().requires_grad_()
    y = nn.functional.conv1d(x, weight, stride=2, padding=1)
    grad = torch.arange(float(y.numel())).reshape(y.shape)
    y.backward(grad)
    assert torch.allclose(nn.grad.conv1d_input(x.shape, weight.detach(), grad, stride=2, padding=1), x.grad)
    assert torch.allclose(nn.grad.conv1d_weight(x.detach(), weight.shape, grad, stride=2, padding=1), weight.grad)


def test_parts_of_attention():
    F, x, weight = nn.functional, torch.arange(8.0).reshape(2, 4), torch.arange(48.0).reshape(12, 4)
    q, k, v = F._in_projection_packed(x, x, x, weight, torch.ones(12))
    assert torch.equal(torch.cat([q, k, v], 1), F.linear(x, weight, torch.ones(12)))
    mask = F._canonical_mask(torch.tensor([True, False]), "mask", None, "", torch.float32)
    assert mask.tolist() == [float("-inf"), 0] and F._none_or_dtype(None) is None and F._none_or_dtype(x) is torch.float32
    assert nn._reduction.get_enum("sum") == 2 and [F._get_softmax_dim("softmax", n, 1) for n in range(5)] == [0, 0, 1, 0, 1]


def test_convolutions_of_time_norms_of_matrices_and_draws():
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
    assert torch.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3).tolist() == pytest.approx([-0.2, 2.0])
