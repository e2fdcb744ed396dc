"""Pruning, fusion of batch normalization, calls with other parameters, and modules without initialization."""

import pytest

import opforge as torch
from opforge import nn
from opforge.nn.utils import prune, stateless

X = torch.tensor([[1.0, -2.0, 0.5]])
WEIGHT = torch.tensor([[0.1, -0.9, 0.5], [0.3, 0.2, -0.8], [0.7, 0.6, 0.4], [-1.0, 0.05, 1.1]])


def linear():
    layer = nn.Linear(3, 4)
    with torch.no_grad():
        layer.weight.copy_(WEIGHT)
    return layer


def masked(mask):
    return WEIGHT * torch.tensor(mask, dtype=torch.float32)


def test_elements_of_the_least_values_are_masked():
    layer = prune.l1_unstructured(linear(), "weight", amount=3)
    assert torch.equal(layer.weight, masked([[0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 0, 1]]))
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    layer(X).sum().backward()
    assert torch.equal(layer.weight_orig.grad, layer.weight_mask * X)
    scores = torch.arange(12.0).reshape(4, 3)
    assert prune.l1_unstructured(linear(), "weight", 2, scores).weight_mask.sum(1).tolist() == [1, 3, 3, 3]


def test_a_part_is_a_rounded_number():
    assert prune.l1_unstructured(linear(), "weight", amount=0.3).weight_mask.sum().item() == 8
    assert prune.random_unstructured(linear(), "weight", amount=0.25).weight_mask.sum().item() == 9
    assert prune.identity(linear(), "weight").weight_mask.sum().item() == 12


def test_slices_of_the_least_norms_are_masked():
    layer = prune.ln_structured(linear(), "weight", amount=2, n=2, dim=0)
    assert torch.equal(layer.weight_mask, torch.tensor([[1.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]))
    layer = prune.random_structured(linear(), "weight", amount=1, dim=-1)
    assert sorted(layer.weight_mask.sum(0).tolist()) == [0, 4, 4]


def test_rules_follow_each_other_on_what_is_left():
    layer = prune.l1_unstructured(linear(), "weight", amount=2)
    prune.l1_unstructured(layer, "weight", amount=2)
    assert torch.equal(layer.weight, prune.l1_unstructured(linear(), "weight", amount=4).weight)
    prune.ln_structured(layer, "weight", amount=0.5, n=1, dim=0)
    (hook,) = layer._forward_pre_hooks.values()
    assert [type(rule).__name__ for rule in hook] == ["L1Unstructured", "L1Unstructured", "LnStructured"]
    assert (layer.weight.abs().sum(1) == 0).tolist() == [True, True, False, False]
    assert prune.is_pruned(nn.Sequential(layer))


def test_a_masked_parameter_becomes_a_plain_one():
    layer = prune.custom_from_mask(linear(), "bias", torch.tensor([0, 1, 0, 1]))
    original, value = layer.bias_orig, layer.bias.detach().clone()
    assert prune.remove(layer, "bias") is layer
    assert layer.bias is original and torch.equal(layer.bias, value) and not prune.is_pruned(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks


def test_parameters_are_pruned_as_one_vector():
    a, b = linear(), nn.Linear(2, 2)
    with torch.no_grad():
        b.weight.fill_(0.15)
    prune.global_unstructured([(a, "weight"), (b, "weight")], pruning_method=prune.L1Unstructured, amount=6)
    assert b.weight.abs().sum().item() == 0 and (a.weight == 0).sum().item() == 2


def test_rules_of_users():
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    layer = linear()
    EveryOther.apply(layer, "weight")
    assert layer.weight_mask.sum().item() == 6
    EveryOther.apply(layer, "weight")
    assert layer.weight_mask.sum().item() == 3
    assert prune.L1Unstructured(0.5).prune(torch.tensor([1.0, -2.0, 3.0, 0.5])).tolist() == [0, -2, 3, 0]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: prune.l1_unstructured(linear(), "weight", amount=-1)),
        (ValueError, lambda: prune.l1_unstructured(linear(), "weight", amount=1.5)),
        (ValueError, lambda: prune.l1_unstructured(linear(), "weight", amount=13)),
        (TypeError, lambda: prune.l1_unstructured(linear(), "weight", amount="all")),
        (AttributeError, lambda: prune.l1_unstructured(linear(), "absent", amount=1)),
        (ValueError, lambda: prune.ln_structured(linear(), "bias", amount=1, n=1, dim=0)),
        (IndexError, lambda: prune.ln_structured(linear(), "weight", amount=1, n=1, dim=2)),
        (ValueError, lambda: prune.remove(linear(), "weight")),
        (AssertionError, lambda: prune.l1_unstructured(linear(), "weight", 1, importance_scores=torch.ones(2))),
    ],
)
def test_what_cannot_be_pruned(error, call):
    with pytest.raises(error):
        call()


def test_a_rule_that_fails_leaves_the_module_as_it_was():
    layer = prune.l1_unstructured(linear(), "weight", amount=2)
    value = layer.weight.detach().clone()
    with pytest.raises(ValueError):
        prune.l1_unstructured(layer, "weight", amount=11)
    layer(X)
    assert torch.equal(layer.weight, value) and len(layer._forward_pre_hooks) == 1


def normalization(layer, kind):
    size = layer.out_channels if hasattr(layer, "out_channels") else layer.out_features
    norm = kind(size)
    with torch.no_grad():
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            tensor.normal_()
        norm.running_var.uniform_(0.5, 2.0)
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("layer", "kind", "shape"),
    [
        (nn.Conv2d, nn.BatchNorm2d, (1, 4, 3, 3)),
        (nn.Conv1d, nn.BatchNorm1d, (1, 4, 5)),
        (nn.ConvTranspose2d, nn.BatchNorm2d, (1, 4, 3, 3)),
    ],
)
def test_convolutions_take_batch_normalization_in(layer, kind, shape, bias):
    conv = layer(4, 6, 2, bias=bias).eval()
    norm, x = normalization(conv, kind), torch.randn(shape)
    fused = nn.utils.fuse_conv_bn_eval(conv, norm, transpose=layer is nn.ConvTranspose2d)
    assert type(fused) is layer and fused is not conv
    assert torch.allclose(fused(x), norm(conv(x)), atol=1e-5)


def test_linear_layers_take_batch_normalization_in():
    layer = linear().eval()
    norm = normalization(layer, nn.BatchNorm1d)
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(layer, norm)(X), norm(layer(X)), atol=1e-5)
    with pytest.raises(AssertionError, match="eval"):
        nn.utils.fuse_linear_bn_eval(linear(), norm)
    with pytest.raises(AssertionError, match="expected 4 or 1"):
        nn.utils.fuse_linear_bn_eval(layer, nn.BatchNorm1d(3).eval())


def test_a_module_is_called_with_other_parameters():
    layer = linear()
    weight = torch.ones(4, 3, requires_grad=True)
    result = stateless.functional_call(layer, {"weight": weight, "bias": torch.zeros(4)}, X, strict=True)
    assert result.tolist() == [[-0.5] * 4]
    result.sum().backward()
    assert torch.equal(weight.grad, X.expand(4, 3))
    assert torch.equal(layer.weight, WEIGHT) and isinstance(layer.weight, nn.Parameter)
    for strict in ({"weight": weight}, {"weight": weight, "bias": weight, "more": weight}):
        with pytest.raises(RuntimeError, match="Error"):
            stateless.functional_call(layer, strict, X, strict=True)
    with pytest.raises(TypeError):
        stateless.functional_call(layer, {"weight": 3.0}, X)
    with pytest.raises(RuntimeError):
        stateless.functional_call(layer, {"weight": torch.ones(2, 2)}, X)
    assert torch.equal(layer.weight, WEIGHT)


def test_buffers_that_change_meanwhile_are_in_the_dictionary():
    norm = nn.BatchNorm1d(3)
    state = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    stateless.functional_call(norm, state, torch.arange(6.0).reshape(2, 3))
    assert torch.allclose(state["running_mean"], torch.tensor([0.15, 0.25, 0.35])) and state["num_batches_tracked"].item() == 1
    assert norm.running_mean.tolist() == [0, 0, 0]


def test_buffers_that_are_assigned_meanwhile_are_in_the_dictionary():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count = self.count + 1
            return x + self.count

    counter, state = Counter(), {"count": torch.tensor(5.0)}
    assert stateless.functional_call(counter, state, torch.ones(())).item() == 7
    assert state["count"].item() == 6 and counter.count.item() == 0


def test_ties():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    x, twice = torch.ones(1, 2), 2 * torch.eye(2)
    assert stateless.functional_call(model, {"0.weight": twice}, x).tolist() == [[4, 4]]
    assert torch.allclose(stateless.functional_call(model, {"0.weight": twice}, x, tie_weights=False), 2 * x @ model[0].weight.T)
    with pytest.raises(ValueError, match="tied"):
        stateless.functional_call(model, {"0.weight": twice, "1.weight": torch.eye(2)}, x)


def test_modules_without_initialization():
    layer = nn.utils.skip_init(nn.Conv2d, 2, 3, kernel_size=2, dtype=torch.float64)
    assert layer.weight.shape == (3, 2, 2, 2) and layer.weight.dtype == torch.float64 and str(layer.weight.device) == "cpu"
    for wrong in (nn.ReLU, print):
        with pytest.raises(RuntimeError):
            nn.utils.skip_init(wrong)


def test_weights_of_convolutions_lie_in_another_order():
    model, x = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Sequential(nn.ConvTranspose2d(4, 3, 2)), nn.Linear(5, 5)), torch.randn(1, 3, 5, 5)
    before = model(x)
    assert nn.utils.convert_conv2d_weight_memory_format(model, torch.channels_last) is model
    assert model[0].weight.stride() == (12, 1, 6, 3) and model[1][0].weight.stride() == (12, 1, 6, 3)
    assert isinstance(model[0].weight, nn.Parameter) and torch.allclose(model(x), before, atol=1e-6)
    conv = nn.Conv3d(2, 3, 2)
    nn.utils.convert_conv3d_weight_memory_format(conv, torch.channels_last_3d)
    assert conv.weight.stride() == (16, 1, 8, 4, 2)
    nn.utils.convert_conv3d_weight_memory_format(conv, torch.contiguous_format)
    assert conv.weight.is_contiguous()


def test_batches_of_one_process():
    layer = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3))
    layer[1].weight.data.uniform_()
    x = torch.randn(4, 2, 3, 3)
    expected, before = layer(x), dict(layer.state_dict())
    converted = torch.nn.SyncBatchNorm.convert_sync_batchnorm(layer)
    assert isinstance(converted[1], torch.nn.SyncBatchNorm) and list(converted.state_dict()) == list(before)
    assert torch.allclose(torch.nn.parallel.DataParallel(converted)(x), expected)
    with pytest.raises(ValueError, match="2D"):
        torch.nn.SyncBatchNorm(3)(torch.ones(3))
