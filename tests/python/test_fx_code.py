"""Graphs as Python's source, in PyTorch's form, and graphs made of others."""

import copy
import inspect
import math
import operator
import pickle
from collections import namedtuple

import pytest

import opforge as torch
from opforge import fx

Pair = namedtuple("Pair", ["first", "second"])


class Net(torch.nn.Module):
    """A module of each kind of step."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, scale=2.0):
        y = self.linear(x)
        z = torch.cat([y, -y + self.shift], dim=0)[:, :2] ** scale
        return {"sum": z.sum(), "rows": self.layers(y).shape[0]}


def ran(module, *args, **kwargs):
    """What the printed source gives, run by itself."""
    names = dict(module.graph.python_code("self").globals)
    exec(module.code, names)
    return names["forward"](module, *args, **kwargs)


def test_code_is_source_that_runs():
    net, x = Net(), torch.tensor([[1.0, 2.0]])
    module = fx.symbolic_trace(net)
    assert module.code.splitlines() == [
        "def forward(self, x, scale = 2.0):",
        "    linear = self.linear(x);  x = None",
        "    neg = -linear",
        "    shift = self.shift",
        "    add = neg + shift;  neg = shift = None",
        "    cat = torch.cat([linear, add], dim = 0);  add = None",
        "    getitem = cat[(slice(None, None, None), slice(None, 2, None))];  cat = None",
        "    pow_1 = getitem ** scale;  getitem = scale = None",
        "    sum_1 = pow_1.sum();  pow_1 = None",
        "    layers_0 = getattr(self.layers, '0')(linear);  linear = None",
        "    layers_1 = getattr(self.layers, '1')(layers_0);  layers_0 = None",
        "    getattr_1 = layers_1.shape;  layers_1 = None",
        "    getitem_1 = getattr_1[0];  getattr_1 = None",
        "    return {'sum': sum_1, 'rows': getitem_1}",
    ]
    assert str(inspect.signature(module.forward)) == "(x, scale=2.0)"
    for options in ({}, {"scale": 3.0}):
        assert ran(module, x, **options) == module(x, **options) == net(x, **options)


def test_graphs_are_printed_in_pytorchs_form():
    def function(x, *rest, flag=None, **others):
        return torch.relu(abs(x)).sum(dim=-1).to(torch.float64), x.T

    assert str(fx.symbolic_trace(function).graph).splitlines() == [
        "graph():",
        "    %x : [num_users=2] = placeholder[target=x]",
        "    %_rest : [num_users=0] = placeholder[target=*rest]",
        "    %flag : [num_users=0] = placeholder[target=flag](default=None)",
        "    %_others : [num_users=0] = placeholder[target=**others]",
        "    %abs_1 : [num_users=1] = call_function[target=operator.abs](args = (%x,), kwargs = {})",
        "    %relu : [num_users=1] = call_function[target=torch.relu](args = (%abs_1,), kwargs = {})",
        "    %sum_1 : [num_users=1] = call_method[target=sum](args = (%relu,), kwargs = {dim: -1})",
        f"    %to : [num_users=1] = call_method[target=to](args = (%sum_1, {torch.float64}), kwargs = {{}})",
        "    %getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%x, T), kwargs = {})",
        "    return (to, getattr_1)",
    ]


def test_names_hide_none_of_pythons():
    module = fx.symbolic_trace(lambda input, torch_1: (input.sum(), input.sum(), input.max(), input.torch(), input.lambda_1()))
    assert [node.name for node in module.graph.nodes] == ["input_1", "torch_1", "sum_1", "sum_2", "max_1", "torch_2", "lambda_1", "output"]
    assert fx.symbolic_trace(lambda input: -input)(input=torch.ones(1)).item() == -1


def test_values_of_all_kinds_are_written():
    class Odd:
        """What has no text that could be read again."""

    odd, seen = Odd(), []

    @fx.wrap
    def look(*args, **kwargs):
        seen.append((args[1:], kwargs))
        return args[0]

    values = (Pair(1, [2]), {"a b": math.inf, 3: -1e-3}, slice(1, None), ..., 1 + 2j, b"x", torch.float16, torch.device("cpu"), len, odd, (), True)
    module = fx.symbolic_trace(lambda x: look(x, *values, **{"not a name": 1}))
    x = torch.ones(1)
    assert ran(module, x) is module(x) is x
    assert seen == [(values, {"not a name": 1})] * 2 and type(seen[0][0][0]) is Pair and seen[0][0][-3] is odd


def test_operators_keep_their_order():
    def function(x):
        return (-1) ** x, 2.0 - x, x % -3, ~(x > 0), x @ x, (1, 2)[0] + x, x // 2 << 1, operator.getitem(x, 0)

    module, x = fx.symbolic_trace(function), torch.tensor([2, 3])
    assert [value.tolist() for value in module(x)] == [value.tolist() for value in function(x)]
    assert "(-1) ** x" in module.code and "2.0 - x" in module.code


def test_keywords_without_defaults_stay_keywords():
    module = fx.symbolic_trace(lambda x, y=1, *, z: x + y * z)
    assert module(1, z=3) == 4 and module(1, 2, z=3) == 7 and module.code.startswith("def forward(self, x, y = 1, *, z):")
    module = fx.symbolic_trace(lambda x, *rest, y=1, **others: x + y)
    assert module(1, 5, 6, y=2, z=3) == 3


def test_a_traced_module_is_called_after_its_root():
    module = fx.symbolic_trace(Net())
    assert type(module).__name__ == "Net" and isinstance(module, fx.GraphModule) and repr(module).startswith("Net(\n")
    assert type(fx.symbolic_trace(torch.nn.ReLU())).__name__ == "ReLU" and fx.GraphModule.__name__ == "GraphModule"
    x = torch.ones(1, 2)
    for again in copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.copy(module):
        assert type(again).__name__ == "Net" and again.code == module.code and again(x) == module(x)
    assert module.print_readable(print_output=False).startswith("class Net(torch.nn.Module):\n    def forward(self, x")


def test_calls_run_the_code_as_it_was_written_last():
    module, other = (fx.symbolic_trace(lambda x: x + 1) for _ in range(2))
    [add] = module.graph.find_nodes(op="call_function")
    add.args = (add.args[0], 5)
    assert module(1) == 2
    module.recompile()
    assert module(1) == 6 and "x + 5" in module.code and other(1) == 2
    module.graph = other.graph
    assert module(1) == 2


def test_submodules_are_added_and_dropped():
    module = fx.symbolic_trace(lambda x: x)
    assert module.add_submodule("block.scale", torch.nn.ReLU()) and type(module.block.scale) is torch.nn.ReLU
    module.number = 3
    assert not module.add_submodule("number.scale", torch.nn.ReLU())
    [x] = module.graph.find_nodes(op="placeholder")
    [output] = module.graph.find_nodes(op="output")
    with module.graph.inserting_before(output):
        output.args = (module.graph.call_module("block.scale", (x,)),)
    module.recompile()
    assert module(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert module.delete_submodule("block.scale") and not module.delete_submodule("block.scale") and not module.delete_submodule("no.where")


def test_transformers_write_another_graph():
    class Swapped(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return torch.neg(*args) if target is torch.sigmoid else super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return args[0].sigmoid() if target == "neg" else super().call_method(target, args, kwargs)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.weight = torch.nn.Linear(2, 2), torch.nn.Parameter(torch.ones(2))

        def forward(self, x, y=1.0):
            return torch.sigmoid(self.linear(x)).neg() * self.weight + y

    block, x = Block(), torch.ones(1, 2)
    traced = fx.symbolic_trace(block)
    same, swapped = fx.Transformer(traced).transform(), Swapped(traced).transform()
    assert torch.equal(same(x), block(x)) and same.linear is block.linear and same.code == traced.code
    assert torch.equal(swapped(x, 2.0), (-block.linear(x)).sigmoid() * block.weight + 2.0)


def test_patterns_are_replaced_wherever_they_are():
    def function(x, y):
        a = torch.add(x, y).relu()
        b = torch.add(a, x).relu()
        return torch.sub(b, 1).relu() + torch.add(b, y)

    module = fx.symbolic_trace(function)
    matches = fx.replace_pattern(module, lambda p, q: torch.add(p, q).relu(), lambda p, q: torch.maximum(p, q) * 2)
    assert len(matches) == 2 and matches[0].anchor.name == "relu" and module.code.count("torch.maximum(") == 2 and module.code.count(".relu(") == 1
    assert [str(value) for value in matches[1].nodes_map.values()] == ["relu_1", "add_1", "mul", "x"], "the first replacement is an input of the second"
    x, y = torch.tensor(2.0), torch.tensor(3.0)
    a = torch.maximum(x, y) * 2
    b = torch.maximum(a, x) * 2
    assert module(x, y).item() == (b - 1 + b + y).item()
    module.graph.lint()


def test_patterns_that_are_used_elsewhere_or_differ_are_left():
    def function(x):
        a = torch.neg(x)
        return torch.exp(a) + a, torch.clamp(x, 0, 2), torch.clamp(x, 0, 1)

    module = fx.symbolic_trace(function)
    assert fx.replace_pattern(module, lambda x: torch.exp(torch.neg(x)), lambda x: x) == []
    assert len(fx.replace_pattern(module, lambda x: torch.clamp(x, 0, 1), lambda x: x)) == 1
    assert module(torch.tensor(3.0))[1:] == (2.0, 3.0)
    with pytest.raises(AssertionError, match="2 inputs, the replacement 1"):
        fx.replace_pattern(module, lambda x, y: x + y, lambda x: x)
    with pytest.raises(NotImplementedError, match="one step"):
        fx.replace_pattern(module, lambda x: (x + 1, x + 2), lambda x: x)


def test_inputs_of_patterns_stand_for_numbers_too():
    module = fx.symbolic_trace(lambda x: torch.add(x, 3) * torch.add(2, x))
    assert len(fx.replace_pattern(module, lambda x, y: torch.add(x, y), lambda x, y: y - x)) == 2
    assert module(torch.tensor(5.0)).item() == (3 - 5) * (5 - 2)
    module = fx.symbolic_trace(lambda x: torch.clamp(x, 3, 3) + torch.clamp(x, 1, 2))
    assert len(fx.replace_pattern(module, lambda x, bound: torch.clamp(x, bound, bound), lambda x, bound: bound)) == 1, "an input stands for one value"
    assert module(torch.tensor(5.0)).item() == 3 + 2


def test_replacements_bring_their_modules():
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Linear(1, 1, bias=False)

        def forward(self, x):
            return self.scale(x)

    module, scale = fx.symbolic_trace(lambda x: x.relu() + 1), Scale()
    fx.replace_pattern(module, lambda x: x.relu(), scale)
    assert module.scale is not scale.scale and module(torch.ones(1, 1)).item() == pytest.approx(scale.scale.weight.item() + 1)
