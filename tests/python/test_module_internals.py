"""What packages reach into modules for: hooks of registration and state, members that are exchanged, base classes, blocks of layers."""

import pytest

import opforge as torch
from opforge import nn
from opforge.nn.modules import module as modules
from opforge.nn.utils import stateless


def test_registration_hooks_see_what_modules_get_and_may_replace_it():
    seen = []
    handles = [
        modules.register_module_parameter_registration_hook(lambda module, name, value: seen.append(name)),
        modules.register_module_buffer_registration_hook(lambda module, name, value: value + 1),
        modules.register_module_module_registration_hook(lambda module, name, value: nn.Tanh() if isinstance(value, nn.ReLU) else None),
    ]
    try:
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        net.child = nn.ReLU()
        net.register_buffer("count", torch.zeros(1))
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["weight", "bias"] and isinstance(net[1], nn.Tanh) and isinstance(net.child, nn.Tanh) and net.count.item() == 1
    assert isinstance(nn.Sequential(nn.ReLU())[0], nn.ReLU)


def test_members_are_exchanged_within_a_block():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    weight, x = net[0].weight, torch.ones(4, 2)
    new = {"0.weight": torch.zeros(3, 2, requires_grad=True), "1.running_mean": torch.ones(3)}
    with stateless._reparametrize_module(net, new):
        assert net[0].weight is new["0.weight"] and net[0](x).tolist() == [net[0].bias.tolist()] * 4
        net(x).sum().backward()
    assert net[0].weight is weight and weight.grad is None and new["0.weight"].grad is not None and net[1].running_mean.tolist() == [0] * 3
    with pytest.raises(RuntimeError, match="missing"), stateless._reparametrize_module(net, new, strict=True):
        pass
    with pytest.raises(AttributeError), stateless._reparametrize_module(net, {"0.other": weight}):
        pass


def test_tied_members_are_exchanged_together():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    with stateless._reparametrize_module(net, {"0.weight": torch.zeros(2, 2)}, tie_weights=True):
        assert net[1].weight is net[0].weight
    assert net[1].weight is net[0].weight and isinstance(net[0].weight, nn.Parameter)


KINDS = {
    nn.CELU: (nn.ELU, False), nn.Fold: (nn.Unfold, False), nn.LogSoftmax: (nn.Softmax, False), nn.Softmin: (nn.Softmax, False),
    nn.Softshrink: (nn.Hardshrink, False), nn.ZeroPad2d: (nn.ConstantPad2d, True), nn.AvgPool1d: (nn.modules.pooling._AvgPoolNd, True),
    nn.AvgPool3d: (nn.modules.pooling._AvgPoolNd, True), nn.MaxPool2d: (nn.modules.pooling._MaxPoolNd, True),
    nn.AdaptiveAvgPool2d: (nn.modules.pooling._AdaptiveAvgPoolNd, True), nn.ReflectionPad1d: (nn.modules.padding._ReflectionPadNd, True),
    nn.CircularPad3d: (nn.modules.padding._CircularPadNd, True), nn.Dropout2d: (nn.modules.dropout._DropoutNd, True),
    nn.ConvTranspose1d: (nn.modules.conv._ConvTransposeNd, True), nn.MultiheadAttention: (nn.modules.activation.MultiheadAttention, True),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_classes_of_modules_derive_as_pytorchs(kind):
    base, expected = KINDS[kind]
    assert issubclass(kind, base) is expected


def test_modules_whose_classes_changed_print_and_compute_as_before():
    assert repr(nn.ZeroPad2d(1)) == "ZeroPad2d((1, 1, 1, 1))" and repr(nn.ConstantPad1d(1, 2.0)) == "ConstantPad1d(padding=(1, 1), value=2.0)"
    assert nn.ZeroPad1d(1)(torch.ones(1, 1, 2)).tolist() == [[[0, 1, 1, 0]]] and repr(nn.CELU(2.0)) == "CELU(alpha=2.0)"
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))" and repr(nn.LogSoftmax(1)) == "LogSoftmax(dim=1)"
    assert repr(nn.Softshrink()) == "Softshrink(0.5)" and "output_size=3" in repr(nn.Fold(3, 2))


def test_blocks_of_transformer_layers_may_be_replaced():
    class Encoder(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            self.seen = is_causal
            return x * 2

        def _ff_block(self, x):
            return -x

    class Decoder(nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return mem

        _sa_block, _ff_block = Encoder._sa_block, Encoder._ff_block

    x, memory = torch.arange(24.0).reshape(3, 2, 4).sin(), torch.ones(3, 2, 4)
    layer = Encoder(4, 2, 8, norm_first=True)
    y = x + 2 * layer.norm1(x)
    assert torch.allclose(layer(x, is_causal=True), y - layer.norm2(y)) and layer.seen
    layer = Decoder(4, 2, 8)
    y = layer.norm2(layer.norm1(3 * x) + memory)
    assert torch.allclose(layer(x, memory), layer.norm3(y - y), atol=1e-6)


def test_hooks_of_states_may_replace_them():
    net = nn.Linear(2, 3)
    handle = net._register_state_dict_hook(lambda module, state, prefix, metadata: {name: tensor + 1 for name, tensor in state.items()})
    assert torch.equal(net.state_dict()["bias"], net.bias.detach() + 1)
    handle.remove()
    assert torch.equal(net.state_dict()["bias"], net.bias.detach())
