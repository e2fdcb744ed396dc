"""What every module can do: registration, state, hooks, conversion, copies, printing; and the containers of modules."""

import copy
import pickle
from collections import OrderedDict
from queue import SimpleQueue

import pytest

import opforge as torch
from opforge import nn


class Net(nn.Module):
    """Two layers that share a weight, a buffer of each kind, and a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, x, factor=1):
        return self.second(self.first(x)) * self.scale * factor


STATE = ["scale", "steps", "first.weight", "first.bias", "second.weight"]


def test_iteration_gives_shared_parameters_once():
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names == ["scale", "first.weight", "first.bias"]
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)] == [*names, "second.weight"]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert [name for name, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second"]
    assert net.get_parameter("first.bias") is net.first.bias and net.get_submodule("first") is net.first
    assert len(list(nn.ModuleList([net.first] * 3).modules())) == 2


def test_assignment_registers_and_deletion_forgets():
    net = Net()
    net.first = nn.Identity()
    net.steps = torch.tensor(3)
    assert net._buffers["steps"].item() == 3 and isinstance(net._modules["first"], nn.Identity)
    net.extra = nn.Buffer(torch.ones(1), persistent=False)
    assert "extra" in net._buffers and "extra" not in net.state_dict()
    del net.scale
    assert "scale" not in net.state_dict() and not hasattr(net, "scale")
    net.scale = 2  # an attribute like any other now
    assert net.scale == 2
    net._parameters["added"] = nn.Parameter(torch.ones(1))
    assert net.added is net._parameters["added"]
    net.second = nn.Identity()  # keeps its place
    assert list(net._modules) == ["first", "second"]
    net.first = None
    assert net.first is None and [name for name, _ in net.named_children()] == ["second"]


def early():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(torch.ones(1))

    return Early()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda net: net.missing, AttributeError, "'Net' object has no attribute 'missing'"),
        (lambda net: setattr(net, "scale", torch.ones(2)), TypeError, "cannot assign 'Tensor' as parameter 'scale'"),
        (lambda net: setattr(net, "first", 3), TypeError, "cannot assign 'int' as child module 'first'"),
        (lambda net: setattr(net, "steps", 3), TypeError, "cannot assign 'int' as buffer 'steps'"),
        (lambda net: net.register_parameter("a.b", None), KeyError, 'parameter name can\'t contain "."'),
        (lambda net: net.register_parameter("", None), KeyError, "can't be empty string"),
        (lambda net: net.register_buffer("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda net: net.register_parameter("p", nn.Parameter(torch.ones(1)) * 2), TypeError, "nn.Parameter or None required"),
        (lambda net: net.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda net: net.get_submodule("first.x"), AttributeError, "Linear has no attribute `x`"),
        (lambda net: net.train(1), ValueError, "training mode is expected to be boolean"),
        (lambda net: net.to(torch.int64), TypeError, "only accepts floating point"),
        (lambda net: nn.Module()(1), NotImplementedError, 'missing the required "forward"'),
        (lambda net: early(), AttributeError, "before Module.__init__() call"),
        (lambda net: nn.Module(3), TypeError, "takes no arguments"),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    with pytest.raises(error) as raised:
        call(Net())
    assert words in str(raised.value.args[0])


# State


def test_state_dict_has_names_in_order_and_shares_memory():
    net = Net()
    state = net.state_dict()
    assert list(state) == STATE and list(state._metadata) == ["", "first", "second"]
    assert not state["scale"].requires_grad and net.state_dict(keep_vars=True)["scale"] is net.scale
    state["scale"].fill_(5)
    assert net.scale.tolist() == [5, 5]
    assert list(net.state_dict(prefix="net."))[0] == "net.scale"


def test_load_state_dict_copies_into_the_same_parameters():
    net, other = Net(), Net()
    before = other.first.weight
    assert repr(other.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    assert other.first.weight is before and other.first.weight.tolist() == net.first.weight.tolist()
    state = {name: value.double() for name, value in net.state_dict().items()}
    other.load_state_dict(state, assign=True)
    assert other.first.weight.dtype is torch.float64 and isinstance(other.first.weight, nn.Parameter)


def test_load_state_dict_says_everything_that_does_not_fit():
    state = Net().state_dict()
    del state["first.bias"]
    state["stranger"] = torch.ones(1)
    state["scale"] = torch.ones(3)
    with pytest.raises(RuntimeError) as raised:
        Net().load_state_dict(state)
    for words in (
        "Error(s) in loading state_dict for Net:",
        'Missing key(s) in state_dict: "first.bias". ',
        'Unexpected key(s) in state_dict: "stranger". ',
        "size mismatch for scale: copying a param with shape",
    ):
        assert words in str(raised.value)
    del state["scale"]
    result = Net().load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale", "first.bias"] and result.unexpected_keys == ["stranger"]
    assert repr(result) == "_IncompatibleKeys(missing_keys=['scale', 'first.bias'], unexpected_keys=['stranger'])"


def test_extra_state_and_state_hooks():
    class Counted(nn.Linear):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    layer, other, seen = Counted(1, 1), Counted(1, 1), []
    layer.count = 7
    layer.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append("before saving"))
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: seen.append("after saving"))
    other.register_load_state_dict_pre_hook(lambda module, state, *rest: seen.append("before loading"))
    other.register_load_state_dict_post_hook(lambda module, keys: seen.append("after loading"))
    other.load_state_dict(layer.state_dict())
    assert other.count == 7 and seen == ["before saving", "after saving", "before loading", "after loading"]


# Hooks


def test_forward_hooks_run_in_order_and_replace():
    seen, layer = [], nn.Identity()
    layer.register_forward_pre_hook(lambda m, args: seen.append("pre") or (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: seen.append("first pre"), prepend=True)
    handle = layer.register_forward_hook(lambda m, args, out: seen.append("post") or out * 10)
    layer.register_forward_hook(lambda m, args, out: seen.append("first post"), prepend=True)
    assert layer(torch.tensor(1.0)).item() == 20
    assert seen == ["first pre", "pre", "first post", "post"]
    handle.remove()
    assert layer(torch.tensor(1.0)).item() == 2


def test_hooks_with_keywords_and_hooks_always_called():
    net, seen = Net(), []
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": 0}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    assert net(torch.ones(1, 2), factor=5).abs().sum().item() == 0 and seen == [{"factor": 0}]
    failing = nn.Linear(2, 2)
    failing.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(RuntimeError):
        failing(torch.ones(3))
    assert seen[-1] is None


def test_backward_hooks_see_and_replace_gradients():
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 3,))
    layer.register_full_backward_hook(lambda m, ins, outs: seen.append((ins[0].tolist(), outs[0].tolist())) or (ins[0] * 2,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    row = layer.weight.tolist()[0]
    assert seen[0][0][0] == pytest.approx([3 * w for w in row]) and seen[0][1] == [[3]]
    assert x.grad.tolist()[0] == pytest.approx([6 * w for w in row]) and layer.weight.grad.tolist() == [[3, 3]]


def test_hooks_of_all_modules():
    seen = []
    handles = [
        nn.modules.module.register_module_forward_pre_hook(lambda m, args: seen.append(f"pre {type(m).__name__}")),
        nn.modules.module.register_module_forward_hook(lambda m, args, out: seen.append(f"post {type(m).__name__}")),
    ]
    nn.Sequential(nn.Identity())(1)
    for handle in handles:
        handle.remove()
    nn.Identity()(1)
    assert seen == ["pre Sequential", "pre Identity", "post Identity", "post Sequential"]


# Changing, copying, printing


def test_conversion_keeps_parameters_and_integers():
    net = Net()
    weight = net.first.weight
    net(torch.ones(1, 2)).sum().backward()
    assert net.double() is net and net.first.weight is weight and net.second.weight is weight
    assert weight.dtype is torch.float64 and weight.grad.dtype is torch.float64
    assert net.steps.dtype is torch.int64 and net.scratch.dtype is torch.float64
    for convert, dtype in (
        (lambda: net.to(torch.float16), torch.float16),
        (lambda: net.to("cpu", torch.bfloat16), torch.bfloat16),
        (lambda: net.to(torch.ones(1)), torch.float32),
        (net.half, torch.float16),
        (net.float, torch.float32),
    ):
        assert convert().scale.dtype is dtype


def test_modes_gradients_and_apply():
    net, seen = nn.Sequential(Net(), nn.Dropout()), []
    assert net.eval() is net and not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Linear", "Net", "Dropout", "Sequential"]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_()
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net[0].scale.grad.tolist() == [0, 0]
    net.zero_grad()
    assert net[0].scale.grad is None


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_independent_and_share_what_was_shared(clone):
    net = Net()
    other = clone(net)
    x = torch.ones(1, 2)
    assert other(x).tolist() == net(x).tolist()
    assert other.first.weight is other.second.weight and isinstance(other.scale, nn.Parameter)
    with torch.no_grad():
        other.scale.zero_()
    assert net.scale.tolist() == [1, 1] and "scratch" not in other.state_dict()


def test_repr():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (second): Linear(in_features=2, out_features=2, bias=False)\n"
        ")"
    )
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Tanh()])
    assert repr(layers) == "ModuleList(\n  (0): ReLU()\n  (1-2): 2 x Tanh()\n)"
    assert repr(nn.Sequential()) == "Sequential()"


# Containers


def test_sequential_is_a_sequence():
    a, b, c = nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)
    model = nn.Sequential(a, b, c)
    assert len(model) == 3 and model[-1] is c and list(model) == [a, b, c] and b in model
    assert isinstance(model[:2], nn.Sequential) and list(model[:2]) == [a, b]
    assert list(model[1:].state_dict()) == ["2.weight", "2.bias"]
    model[1] = nn.Tanh()
    del model[2]
    model.append(c).insert(0, nn.Identity())
    assert [type(m).__name__ for m in model] == ["Identity", "Linear", "Tanh", "Linear"]
    assert [name for name, _ in model.named_children()] == ["0", "1", "2", "3"]
    assert model.pop(0).__class__ is nn.Identity and len(model + nn.Sequential(b)) == 4
    named = nn.Sequential(OrderedDict(fc=a, act=b))
    assert named.fc is a and list(named.state_dict()) == ["fc.weight", "fc.bias"]
    with pytest.raises(IndexError):
        model[3]


def test_module_list_and_dict():
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(2))
    layers += [nn.ReLU()]
    layers.extend([nn.Tanh()]).insert(0, nn.Identity())
    assert [type(m).__name__ for m in layers] == ["Identity", "Linear", "Linear", "ReLU", "Tanh"]
    assert len(layers[1:3]) == 2 and len(list(layers.parameters())) == 4
    named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    named["c"] = nn.Tanh()
    named.update([("a", nn.Identity())])
    assert list(named) == list(named.keys()) == ["a", "b", "c"] and isinstance(named["a"], nn.Identity)
    assert isinstance(named.pop("c"), nn.Tanh) and "c" not in named and list(named.state_dict()) == ["b.weight", "b.bias"]
    with pytest.raises(TypeError):
        nn.ModuleList(3)


def test_parameter_list_and_dict():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1))]).append(torch.ones(3))
    assert all(isinstance(p, nn.Parameter) for p in values) and list(values.state_dict()) == ["0", "1", "2"]
    assert [p.numel() for p in values[1:]] == [1, 3] and values[-1].shape == (3,)
    assert repr(values).startswith("ParameterList(\n    (0): Parameter containing: [")
    named = nn.ParameterDict({"a": torch.ones(2)}) | {"b": torch.ones(1)}
    assert list(named.keys()) == ["a", "b"] and isinstance(named["a"], nn.Parameter)
    assert named.pop("a").numel() == 2 and "a" not in named and list(named.state_dict()) == ["b"]


def test_parameter_dicts_sort_the_names_of_plain_dicts_only():
    one = torch.ones(1)
    assert list(nn.ParameterDict({"b": one, "a": one})) == ["a", "b"]
    assert list(nn.ParameterDict(OrderedDict(b=one, a=one))) == ["b", "a"]
    assert list(nn.ParameterDict([("b", one), ("a", one)])) == list(nn.ParameterDict.fromkeys("ba", one)) == ["b", "a"]
    values = nn.ParameterDict([("b", one)])
    values.update({"d": one, "c": one, "b": one})
    assert list(values) == list(values.copy()) == list(nn.ParameterDict(values)) == ["b", "c", "d"]
    values.update(nn.ParameterDict([("f", one), ("e", one)]))
    assert list(values.copy())[-2:] == ["f", "e"]


def test_classes_beside_module_get_the_arguments_if_asked_for():
    class Named:
        def __init__(self, name):
            self.name = name

    class Layer(nn.Module, Named):
        call_super_init = True

    class Other(nn.Module, Named):
        pass

    assert Layer("first").name == "first" and not list(Layer("first").parameters())
    with pytest.raises(TypeError):
        Other("first")


def test_the_older_backward_hook():
    layer, seen = nn.Linear(2, 2), []
    handle = layer.register_backward_hook(lambda module, into, out: seen.append((module is layer, out[0].tolist())))
    layer(torch.ones(1, 2)).sum().backward()
    handle.remove()
    layer(torch.ones(1, 2)).sum().backward()
    assert seen == [(True, [[1, 1]])]


def test_modules_are_compiled_in_place():
    calls = SimpleQueue()

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

        def forward(self, x):
            calls.put(1)
            return (x * self.weight).relu()

    module, seen = Scale(), SimpleQueue()
    module.register_forward_hook(lambda module, args, output: seen.put(output.shape))
    whole = nn.Sequential(module)
    module.compile(fullgraph=True)
    for _ in range(3):
        assert whole(torch.ones(2)).tolist() == [2, 3]
    assert calls.qsize() == 1
    whole(torch.ones(2)).sum().backward()
    assert module.weight.grad.tolist() == [1, 1]
    with torch.no_grad():
        module.weight.fill_(5)
    assert module(torch.ones(2)).tolist() == [5, 5]
    assert sorted(module.state_dict()) == ["weight"]
    twin = copy.deepcopy(module)
    twin(torch.ones(2))
    count = calls.qsize()
    twin(torch.ones(2))
    assert calls.qsize() == count + 1
    assert twin.weight is not module.weight
