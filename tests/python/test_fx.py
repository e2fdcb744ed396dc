"""Programs as graphs of Python's calls: written down, changed, run."""

import copy
import operator

import pytest

import opforge as torch
from opforge import fx


class Net(torch.nn.Module):
    """Modules, parameters, buffers, methods, functions, slices, attributes."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)
        self.weight = torch.nn.Parameter(torch.ones(3) * 2)
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, scale=2.0):
        y = 1 + self.linear(x).relu() * self.weight
        y = torch.cat([y, -y + self.shift], dim=-1)[:, :3] * scale
        z = torch.flatten(self.layers(y), 1)
        return {"sum": z.sum(), "rows": z.shape[0], "soft": torch.nn.functional.softmax(z, -1)}


def test_a_graph_gives_what_its_module_gives():
    net, x = Net(), torch.randn(4, 2)
    graph = fx.symbolic_trace(net)
    for arguments in (x,), (x, 3.0):
        expected, found = net(*arguments), graph(*arguments)
        assert found["soft"].equal(expected["soft"]) and found["sum"].equal(expected["sum"]) and found["rows"] == 4
    assert sorted(graph.state_dict()) == sorted(net.state_dict()) and graph.linear is net.linear
    graph(x)["sum"].backward()
    assert net.weight.grad is not None
    assert [node.target for node in graph.graph.nodes if node.op == "call_module"] == ["linear", "layers.0", "layers.1"]


def test_graphs_are_changed():
    def function(x):
        return torch.relu(x) + 1

    module = fx.symbolic_trace(function)
    [call] = module.graph.find_nodes(op="call_function", target=torch.relu)
    with module.graph.inserting_after(call):
        other = module.graph.call_function(torch.neg, (call.args[0],))
    call.replace_all_uses_with(other)
    assert module.graph.eliminate_dead_code() and call not in module.graph.nodes
    module.recompile()
    assert module(torch.tensor([2.0])).tolist() == [-1.0]
    clone = copy.deepcopy(module)
    [added] = clone.graph.find_nodes(op="call_function", target=operator.add)
    added.args = (added.args[0], 5)
    clone.recompile()
    assert clone(torch.tensor([2.0])).tolist() == [3.0] and module(torch.tensor([2.0])).tolist() == [-1.0] and "neg" in module.code
    with pytest.raises(RuntimeError, match="users"):
        module.graph.erase_node(other)


def test_graphs_are_written_by_hand():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_method("mul", (graph.call_module("scale.inner", (x,)), graph.get_attr("factor"))))
    graph.lint()
    module = fx.GraphModule({"scale.inner": torch.nn.ReLU(), "factor": torch.tensor(3.0)}, graph)
    assert module(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 6.0]


def test_proxies_write_to_graphs_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    graph.output(torch.cat([x, torch.relu(x) * 2]).node)
    assert fx.GraphModule(torch.nn.Module(), graph)(torch.tensor([-1.0, 2.0])).tolist() == [-1.0, 2.0, 0.0, 4.0]


def test_interpreters_see_each_step():
    seen = []

    class Seen(fx.Interpreter):
        def call_module(self, target, args, kwargs):
            seen.append(target)
            return super().call_module(target, args, kwargs)

    net, x = Net(), torch.randn(2, 2)
    assert Seen(fx.symbolic_trace(net)).run(x)["sum"].equal(net(x)["sum"]) and seen == ["linear", "layers.0", "layers.1"]


@fx.wrap
def halved(x):
    return x / 2 if x.sum() > 0 else x


def test_wrapped_functions_are_steps():
    module = fx.symbolic_trace(lambda x: halved(x) + 1)
    assert [node.op for node in module.graph.nodes] == ["placeholder", "call_function", "call_function", "output"]
    assert module(torch.tensor([4.0])).tolist() == [3.0] and module(torch.tensor([-4.0])).tolist() == [-3.0]


def test_what_needs_values_cannot_be_traced():
    for function in (lambda x: x if x.sum() > 0 else -x), (lambda x: [y for y in x]):
        with pytest.raises(ValueError, match="traced|iterated"):
            fx.symbolic_trace(function)
    assert torch.ones(2).sum() > 0  # tracing has ended
    module = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True})
    assert module(torch.zeros(1)).tolist() == [1.0]


def test_shapes_are_unpacked():
    def function(x):
        rows, columns = x.shape
        torch._assert(rows == 2, "two rows")
        return x.reshape(columns * rows)

    module = fx.symbolic_trace(function)
    assert module(torch.ones(2, 3)).shape == (6,)
    with pytest.raises(AssertionError, match="two rows"):
        module(torch.ones(3, 3))


def test_missing_arguments():
    with pytest.raises(TypeError, match="'y'"):
        fx.symbolic_trace(lambda x, y: x + y)(torch.ones(1))


def test_operators_of_proxies_write_to_graphs_by_hand():
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x, weight = fx.Proxy(graph.placeholder("x"), tracer), fx.Proxy(graph.get_attr("weight"), tracer)
    result = torch.einsum("ij,jk->ik", x, weight).relu() * 2 + torch.cat([x, x], 1).sum()
    graph.output(result.node)
    root = torch.nn.Module()
    root.weight = torch.nn.Parameter(torch.tensor([[1.0, -1.0], [2.0, 0.5]]))
    module = fx.GraphModule(root, graph)
    given = torch.tensor([[1.0, 2.0]])
    expected = (given @ root.weight).relu() * 2 + 2 * given.sum()
    assert module(given).tolist() == expected.tolist()
    module(given).sum().backward()
    assert root.weight.grad.tolist() == [[2.0, 0.0], [4.0, 0.0]]
    with pytest.raises(NotImplementedError, match="get_attr"):
        x + torch.ones(1)


def test_a_proxy_without_a_tracer_adds_to_its_nodes_graph():
    graph = fx.Graph()
    graph.output((fx.Proxy(graph.placeholder("x")) + 1).node)
    assert fx.GraphModule({}, graph)(torch.ones(1)).tolist() == [2.0]


def test_an_interpreter_fetches_arguments_and_attributes():
    class Read(fx.Interpreter):
        def run_node(self, n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if n.op == "call_function":
                found.append((n.target.__name__, args, kwargs))
            return super().run_node(n)

    found, layer = [], torch.nn.Sequential(torch.nn.Linear(1, 1))
    module = fx.symbolic_trace(lambda x: torch.clamp(x + 1, max=2.0))
    assert Read(module).run(torch.tensor(5.0)).item() == 2.0
    assert found == [("add", (torch.tensor(5.0), 1), {}), ("clamp", (torch.tensor(6.0),), {"max": 2.0})]
    reader = fx.Interpreter(fx.symbolic_trace(layer))
    assert reader.fetch_attr("0.weight") is layer[0].weight
    with pytest.raises(RuntimeError, match="0.nothing"):
        reader.fetch_attr("0.nothing")
    node = list(module.graph.nodes)[1]
    with pytest.raises(RuntimeError, match="nonexistent value x"):
        fx.Interpreter(module).fetch_args_kwargs_from_env(node)


@pytest.mark.parametrize("operands", [lambda x, y: (x, y), lambda x, y: ([x, y],), lambda x, y: ((x, y),)])
def test_operands_of_einsum_stand_one_by_one(operands):
    module = fx.symbolic_trace(lambda x, y: torch.einsum("i,j->ij", *operands(x, y)))
    x, y, product, _ = module.graph.nodes
    assert product.args == ("i,j->ij", x, y)
    assert module(torch.tensor([1.0, 2.0]), torch.tensor([3.0])).tolist() == [[3.0], [6.0]]
