"""What packages take from PyTorch's modules beside its documented names, and use: registration hooks, weak dictionaries, members by name, .."""

import gc
import importlib
import time
import weakref

import numpy
import pytest

import opforge as torch
from opforge import nn
from opforge.nn.modules import module as modules
from opforge.nn.utils import stateless
from opforge.utils import _pytree, weak


def test_reversed_is_by_the_first_dimension():
    x = torch.arange(6).reshape(3, 2)
    assert reversed(x).tolist() == [[4, 5], [2, 3], [0, 1]] and reversed(torch.tensor(3)).item() == 3


def test_inference_mode_and_whether_it_is_on():
    assert not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled()

    @torch.inference_mode
    def inside():
        return torch.is_inference_mode_enabled()

    assert inside() and not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


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


def test_cross_map_normalization_is_over_channels_on_both_sides():
    x = torch.arange(40.0).reshape(2, 5, 2, 2).sin()
    for size, reach in ((1, 0), (2, 0), (3, 1), (4, 1), (5, 2)):
        squares = x.numpy() ** 2
        sums = numpy.stack([squares[:, max(c - reach, 0) : c + reach + 1].sum(1) for c in range(5)], 1)
        expected = x.numpy() / (1.5 + 0.5 / size * sums) ** 0.6
        numpy.testing.assert_allclose(nn.CrossMapLRN2d(size, 0.5, 0.6, 1.5)(x).numpy(), expected, rtol=1e-5)
    assert repr(nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"
    with pytest.raises(ValueError, match="4D"):
        nn.CrossMapLRN2d(3)(x[0])


def test_weak_dictionaries_tell_tensors_apart_by_identity():
    a, b = torch.ones(2), torch.ones(2)
    found = weak.WeakIdKeyDictionary({a: "a"})
    found[b] = "b"
    assert found[a] == "a" and found[b] == "b" and len(found) == 2 and a in found and torch.ones(2) not in found
    assert any(key is b for key in found) and weak.WeakIdRef(a) == weak.WeakIdRef(a) != weak.WeakIdRef(b)
    copied, reference = found.copy(), weak.TensorWeakRef(b)
    assert reference() is b
    del b
    gc.collect()
    assert len(found) == len(copied) == 1 and reference() is None
    del found[a]
    assert not found and weakref.ref(a)() is a
    with pytest.raises(TypeError):
        weak.TensorWeakRef(3)


def test_gradients_of_softmax_by_their_names():
    x, grad = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.tensor([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]])
    for function, backward in (torch.softmax, torch._softmax_backward_data), (torch.log_softmax, torch._log_softmax_backward_data):
        x.grad = None
        y = function(x, 1)
        y.backward(grad)
        assert torch.allclose(backward(grad, y.detach(), 1, torch.float32), x.grad, atol=1e-6)


def test_seeds_of_workers_are_numpys():
    from opforge.utils.data._utils.worker import _generate_state

    assert _generate_state(123456789012345, 3) == [3999280408, 2418223825, 1775828080, 3641838301]


def test_containers_of_packages_register_as_lists():
    class Mine(list):
        pass

    _pytree.register_pytree_node(Mine, _pytree._list_flatten, _pytree._list_unflatten, flatten_with_keys_fn=_pytree._list_flatten_with_keys)
    assert _pytree.tree_leaves({"a": Mine([1, 2])}) == [1, 2] and _pytree._tuple_unflatten([1], None) == (1,)
    assert _pytree.is_structseq_instance(time.localtime()) and not _pytree.is_structseq_instance((1,))


def test_functions_of_parameters():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    function, parameters, buffers = torch.func.make_functional_with_buffers(net)
    x = torch.ones(4, 2)
    assert torch.equal(function(parameters, buffers, x), net(x)) and parameters[0] is not net[0].weight
    function, parameters = torch.func.make_functional(net[0])
    torch.func.grad(lambda parameters: function(parameters, x).sum())(parameters)
    assert torch.equal(function([torch.zeros(3, 2), torch.ones(3)], x), torch.ones(4, 3))
    with pytest.raises(RuntimeError, match="buffers"):
        torch.func.make_functional(net)


def test_beta_is_made_of_a_dirichlet():
    beta = torch.distributions.Beta(torch.tensor([2.0, 3.0]), 1.0)
    beta._dirichlet.concentration = torch.tensor([[1.0, 4.0], [1.0, 1.0]])
    assert beta.concentration1.tolist() == [1, 1] and beta.concentration0.tolist() == [4, 1]
    wide = beta.expand((3, 2))
    assert wide.batch_shape == (3, 2) and wide.concentration0.shape == (3, 2) and wide.sample().shape == (3, 2)


def test_the_type_of_tensors_is_the_default_dtype():
    from opforge._tensors.typed import place_of

    assert place_of(torch.Tensor) == (torch.get_default_dtype(), None)


ABSENT = ["TensorType", "DeviceObjType", "_C.Value", "_C.Graph", "jit._get_trace_graph", "_C._functorch._add_batch_dim", "_functorch.vmap._unwrap_batched"]
ABSENT += ["utils._python_dispatch.TorchDispatchMode", "distributed._tensor.experimental.implicit_replication"]
ABSENT += ["distributed.fsdp.wrap.wrap", "distributed.checkpoint.state_dict.get_state_dict", "distributed._composable.fsdp.FSDPModule"]


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_absent_says_so(name):
    place, _, last = f"opforge.{name}".rpartition(".")
    with pytest.raises(NotImplementedError, match=last):
        getattr(importlib.import_module(place), last)()


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


def test_removed_functions_say_what_to_use():
    with pytest.raises(RuntimeError, match=r"linalg\.eigh"):
        torch.symeig(torch.eye(2))


def test_an_iterator_reads_loaders_of_packages():
    from opforge.utils.data.dataloader import _DatasetKind, _SingleProcessDataLoaderIter

    class Loader:
        """A loader that makes its own batches, with the attributes that PyTorch's have."""

        _auto_collation, collate_fn, drop_last, generator, num_workers = False, staticmethod(lambda batch: batch * 2), False, None, 0
        _dataset_kind, _index_sampler = _DatasetKind.Iterable, range(100)

        def __init__(self):
            self.dataset = self

        def __iter__(self):
            return iter([torch.ones(1), torch.zeros(2)])

    assert [batch.tolist() for batch in _SingleProcessDataLoaderIter(Loader())] == [[2], [0, 0]]
